/* replay.c - runs a fuzz target on files, or on all files of folders: `fuzz_NAME corpus/NAME`. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static unsigned files;

static int replay(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return perror(path), 1;
	if (S_ISDIR(st.st_mode)) {
		struct dirent **list;
		int n = scandir(path, &list, NULL, alphasort), rc = n < 0;
		for (int i = 0; i < n; i++) {
			char *sub = NULL;
			if (list[i]->d_name[0] != '.' && asprintf(&sub, "%s/%s", path, list[i]->d_name) > 0)
				rc |= replay(sub);
			free(sub);
			free(list[i]);
		}
		if (n >= 0)
			free(list);
		return rc;
	}
	FILE *in = fopen(path, "rb");
	uint8_t *p = malloc((size_t)st.st_size + 1);
	int rc = !in || !p || fread(p, 1, (size_t)st.st_size, in) != (size_t)st.st_size;
	if (rc)
		perror(path);
	else
		LLVMFuzzerTestOneInput(p, (size_t)st.st_size);
	if (in)
		fclose(in);
	free(p);
	files++;
	return rc;
}

int main(int argc, char **argv)
{
	int rc = 0;

	for (int i = 1; i < argc; i++)
		rc |= replay(argv[i]);
	printf("%u inputs\n", files);
	return rc || !files;
}
