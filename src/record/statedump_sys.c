/* statedump_sys.c - CPUs, names of interrupts, block devices and network interfaces, the kernel's functions. */
#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

#include "record/bpf/event_ids.h"
#include "record/statedump.h"

static int write_irq(struct ww_ctf_out *o, uint32_t irq, const char *chip, const char *action,
		     struct ww_err *err)
{
	int rc = ww_ctf_rec_begin(o, WW_EV_LTTNG_STATEDUMP_INTERRUPT, ww_dump_now_ns(), err);

	if (rc)
		return rc;
	ww_ctf_rec_u32(o, irq);
	ww_ctf_rec_str(o, chip);
	ww_ctf_rec_str(o, action);
	ww_ctf_rec_i32(o, 0);
	ww_ctf_rec_end(o);
	return 0;
}

/* /sys/kernel/irq/N/{chip_name,actions}; actions that share a line are separated by commas, and each is an
 * event of its own, as LTTng has it. */
static int dump_irqs(struct ww_ctf_out *o, struct ww_err *err)
{
	DIR *dir = opendir("/sys/kernel/irq");
	int rc = 0;

	if (!dir)
		return 0;
	for (struct dirent *e; !rc && (e = readdir(dir));) {
		char path[300], chip[64], actions[1024];
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "%s/chip_name", e->d_name);
		if (ww_dump_read(dirfd(dir), path, chip, sizeof(chip)) < 0)
			continue;
		snprintf(path, sizeof(path), "%s/actions", e->d_name);
		if (ww_dump_read(dirfd(dir), path, actions, sizeof(actions)) <= 0)
			continue;
		char *save = NULL;
		for (char *a = strtok_r(actions, ",", &save); a && !rc; a = strtok_r(NULL, ",", &save))
			rc = write_irq(o, (uint32_t)strtoul(e->d_name, NULL, 10), chip, a, err);
	}
	closedir(dir);
	return rc;
}

/* Every one that the kernel knows, also the loop devices that nothing is behind yet (/proc/partitions leaves them out). */
static int dump_disks(struct ww_ctf_out *o, struct ww_err *err)
{
	DIR *dir = opendir("/sys/class/block");
	char path[300], dev[32];
	unsigned major, minor;
	int rc = 0;

	if (!dir)
		return 0;
	for (struct dirent *e; !rc && (e = readdir(dir));) {
		snprintf(path, sizeof(path), "%s/dev", e->d_name);
		if (e->d_name[0] == '.' || ww_dump_read(dirfd(dir), path, dev, sizeof(dev)) <= 0 ||
		    sscanf(dev, "%u:%u", &major, &minor) != 2)
			continue;
		rc = ww_ctf_rec_begin(o, WW_EV_LTTNG_STATEDUMP_BLOCK_DEVICE, ww_dump_now_ns(), err);
		if (rc)
			break;
		ww_ctf_rec_u32(o, (major << 20) | minor); /* the kernel's own dev_t, as in block_rq_* */
		ww_ctf_rec_str(o, e->d_name);
		ww_ctf_rec_end(o);
	}
	closedir(dir);
	return rc;
}

static int write_interface(struct ww_ctf_out *o, const char *name, const void *addr, struct ww_err *err)
{
	int rc = ww_ctf_rec_begin(o, WW_EV_LTTNG_STATEDUMP_NETWORK_INTERFACE, ww_dump_now_ns(), err);

	if (rc)
		return rc;
	ww_ctf_rec_str(o, name);
	ww_ctf_rec_bytes(o, addr, 4); /* network order: the field is declared big endian */
	ww_ctf_rec_end(o);
	return 0;
}

/* One event for each IPv4 address; an interface without one has 0. */
static int dump_interfaces(struct ww_ctf_out *o, struct ww_err *err)
{
	struct if_nameindex *names = if_nameindex();
	struct ifaddrs *addrs = NULL;
	int rc = 0;

	if (!names)
		return 0;
	if (getifaddrs(&addrs))
		addrs = NULL;
	for (struct if_nameindex *i = names; !rc && i->if_name; i++) {
		static const uint8_t none[4];
		bool any = false;
		for (struct ifaddrs *a = addrs; !rc && a; a = a->ifa_next) {
			if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || strcmp(a->ifa_name, i->if_name))
				continue;
			any = true;
			rc = write_interface(o, i->if_name, &((struct sockaddr_in *)a->ifa_addr)->sin_addr, err);
		}
		if (!rc && !any)
			rc = write_interface(o, i->if_name, none, err);
	}
	freeifaddrs(addrs);
	if_freenameindex(names);
	return rc;
}

struct cpu {
	uint32_t id, family, model, package, core, cores;
	char vendor[64], name[128];
};

static int write_cpu(struct ww_ctf_out *o, const struct cpu *c, struct ww_err *err)
{
	int rc = ww_ctf_rec_begin(o, WW_EV_LTTNG_STATEDUMP_CPU_TOPOLOGY, ww_dump_now_ns(), err);

	if (rc)
		return rc;
	ww_ctf_rec_str(o, "x86");
	ww_ctf_rec_u16(o, (uint16_t)c->id);
	ww_ctf_rec_str(o, c->vendor);
	ww_ctf_rec_u8(o, (uint8_t)c->family);
	ww_ctf_rec_u8(o, (uint8_t)c->model);
	ww_ctf_rec_str(o, c->name);
	ww_ctf_rec_u16(o, (uint16_t)c->package);
	ww_ctf_rec_u16(o, (uint16_t)c->core);
	ww_ctf_rec_u16(o, (uint16_t)c->cores);
	ww_ctf_rec_end(o);
	return 0;
}

/* /proc/cpuinfo as x86 writes it, a paragraph a CPU; elsewhere its fields have other names, and LTTng has none. */
static int dump_cpus(struct ww_ctf_out *o, struct ww_err *err)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	struct cpu c = {0};
	char line[4096];
	int rc = 0;

	while (f && !rc && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "processor : %u", &c.id) == 1 || sscanf(line, "cpu family : %u", &c.family) == 1 ||
		    sscanf(line, "model : %u", &c.model) == 1 || sscanf(line, "physical id : %u", &c.package) == 1 ||
		    sscanf(line, "core id : %u", &c.core) == 1 || sscanf(line, "cpu cores : %u", &c.cores) == 1 ||
		    sscanf(line, "vendor_id : %63[^\n]", c.vendor) == 1 ||
		    sscanf(line, "model name : %127[^\n]", c.name) == 1)
			continue;
		if (!line[0] && c.vendor[0]) { /* the end of a paragraph */
			rc = write_cpu(o, &c, err);
			c = (struct cpu){0};
		}
	}
	if (f)
		fclose(f);
	return rc;
}

int ww_dump_devices_write(struct ww_ctf_out *o, struct ww_err *err)
{
	int rc = dump_irqs(o, err);

	if (!rc)
		rc = dump_cpus(o, err);
	if (!rc)
		rc = dump_disks(o, err);
	return rc ? rc : dump_interfaces(o, err);
}

void ww_dump_kallsyms(int dirfd)
{
	FILE *in = fopen("/proc/kallsyms", "re");
	int fd = in ? openat(dirfd, ".kallsyms", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640) : -1;
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	char line[512], name[256], type;
	unsigned long long at;

	while (out && fgets(line, sizeof(line), in))
		if (sscanf(line, "%llx %c %255s", &at, &type, name) == 3 && at && strchr("tTwW", type))
			fprintf(out, "%llx %s\n", at, name);
	if (out)
		fclose(out);
	else if (fd >= 0)
		close(fd);
	if (in)
		fclose(in);
}
