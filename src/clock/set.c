/* set.c - hosts in one time: the reference's. */
#include "clock/set.h"
#include "clock/sync.h"

const char *ww_accuracy_name(enum ww_accuracy a)
{
	static const char *const names[] = {"reference", "shared", "accurate", "approximate", "fail", "none"};

	return (unsigned)a < WW_AC_N ? names[a] : "?";
}

bool ww_set_is_whole(const struct ww_set *s)
{
	for (uint32_t h = 0; h < s->nhosts; h++)
		if (s->corrections[h].accuracy == WW_AC_NONE || s->corrections[h].accuracy == WW_AC_FAIL)
			return false;
	return true;
}

void ww_set_label(struct ww_set_host *who, uint32_t n)
{
	for (uint32_t h = 0; h < n; h++) {
		bool shared = !*who[h].name && n > 1;

		for (uint32_t i = 0; i < n; i++)
			shared |= i != h && !strcmp(who[i].name, who[h].name);
		who[h].label = shared ? who[h].path : who[h].name;
	}
}

static bool is_path(const char *path, const char *name)
{
	size_t n = strlen(path), m = strlen(name);

	while (n > 1 && path[n - 1] == '/')
		n--;
	while (m > 1 && name[m - 1] == '/')
		m--;
	return n == m && !memcmp(path, name, n);
}

int ww_set_find(const struct ww_set_host *who, uint32_t n, const char *name, uint32_t *ret, struct ww_err *err)
{
	uint32_t found = WW_NONE;
	int rc;

	for (uint32_t h = 0; h < n; h++)
		if (is_path(who[h].path, name)) {
			*ret = h;
			return 0;
		}
	for (uint32_t h = 0; h < n; h++) {
		if (strcmp(who[h].name, name))
			continue;
		if (found == WW_NONE) {
			found = h;
			continue;
		}
		rc = ww_err_set(err, WW_EUSAGE, NULL, WW_ERR_NO_OFFSET, "several traces are of a host called '%s': %s, %s", name,
				who[found].path, who[h].path);
		ww_err_hint(err, "say which one by its path");
		return rc;
	}
	if (found != WW_NONE) {
		*ret = found;
		return 0;
	}
	rc = ww_err_set(err, WW_EUSAGE, NULL, WW_ERR_NO_OFFSET, "no trace and no host is called '%s'", name);
	ww_err_hint(err, "name one of the traces, by its path as written or its host's name (`whywait info TRACE` says it)");
	return rc;
}

int64_t ww_set_epoch_offset(const struct ww_facts *f)
{
	return f->host.epoch_known ? f->host.clock_offset_ns : 0;
}

/* Rounds half away from zero; b > 0. */
static int64_t div_round(__int128 a, __int128 b)
{
	return (int64_t)((a < 0 ? a - b / 2 : a + b / 2) / b);
}

/* The bend at which the piece begins that time t (by_ref: of the set) lies in. */
static const struct ww_bend *piece_of(const struct ww_correction *c, int64_t t, bool by_ref)
{
	uint32_t lo = 0, hi = c->nbends - 2;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo + 1) / 2;

		if ((by_ref ? c->bends[mid].ref_ns : c->bends[mid].t_ns) <= t)
			lo = mid;
		else
			hi = mid - 1;
	}
	return &c->bends[lo];
}

static int64_t apply_bent(const struct ww_correction *c, int64_t t_ns)
{
	const struct ww_bend *b = piece_of(c, t_ns, false);

	return b->ref_ns + div_round(((__int128)t_ns - b->t_ns) * ((__int128)b[1].ref_ns - b->ref_ns), (__int128)b[1].t_ns - b->t_ns);
}

int64_t ww_correction_apply(const struct ww_correction *c, int64_t t_ns)
{
	if (c->nbends)
		return apply_bent(c, t_ns);
	if (!c->drift_e15) /* one host, or hosts of one clock: the path asks this for every state */
		return t_ns + c->offset_ns;
	return t_ns + c->offset_ns + div_round((__int128)(t_ns - c->t0_ns) * c->drift_e15, WW_DRIFT_ONE);
}

/* The last t whose corrected time is not after ref_ns. */
int64_t ww_correction_invert(const struct ww_correction *c, int64_t ref_ns)
{
	if (!c->drift_e15)
		return ref_ns - c->offset_ns;
	int64_t t;
	if (c->nbends) {
		const struct ww_bend *b = piece_of(c, ref_ns, true);
		t = b->t_ns + div_round(((__int128)ref_ns - b->ref_ns) * ((__int128)b[1].t_ns - b->t_ns),
					(__int128)b[1].ref_ns - b->ref_ns);
	} else {
		int64_t d = ref_ns - c->offset_ns - c->t0_ns;
		t = c->t0_ns + div_round((__int128)d * WW_DRIFT_ONE, (__int128)WW_DRIFT_ONE + c->drift_e15);
	}

	while (ww_correction_apply(c, t) > ref_ns)
		t--;
	while (ww_correction_apply(c, t + 1) <= ref_ns)
		t++;
	return t;
}

int64_t ww_set_time(const struct ww_set *s, uint32_t host, int64_t ts_ns)
{
	return ww_correction_apply(&s->corrections[host], ts_ns + ww_set_epoch_offset(s->hosts[host]));
}

int64_t ww_set_local(const struct ww_set *s, uint32_t host, int64_t set_ns)
{
	return ww_correction_invert(&s->corrections[host], set_ns) - ww_set_epoch_offset(s->hosts[host]);
}

/* The other ends of h's packets: on h itself as the model found them, else on another host. */
static struct ww_packet_ref *matches_of(struct ww_arena *mem, const struct ww_sync *s, const struct ww_facts *f, uint32_t h)
{
	struct ww_packet_ref *r = WW_ARENA_ARRAY(mem, struct ww_packet_ref, f->packet.n + 1);

	for (uint32_t p = 0; p < f->packet.n; p++) {
		uint32_t own = f->packet.match[p];
		r[p] = own != WW_NONE ? (struct ww_packet_ref){h, own} : ww_sync_match(s, h, p);
	}
	return r;
}

static int make_one(struct ww_arena *mem, const struct ww_facts *const *facts, struct ww_set *ret)
{
	const struct ww_facts *f = facts[0];
	const int64_t off = ww_set_epoch_offset(f);

	*ret = (struct ww_set){.hosts = facts, .nhosts = 1, .corrections = WW_ARENA_NEW(mem, struct ww_correction),
			       .who = WW_ARENA_NEW(mem, struct ww_set_host)};
	ret->corrections[0] = (struct ww_correction){.t0_ns = f->begin_ts_ns + off, .via = WW_NONE};
	ret->who[0] = (struct ww_set_host){f->host.name, f->host.trace_path, f->host.clock_uuid, f->begin_ts_ns + off, f->end_ts_ns + off,
					   f->packet.n, f->host.name};
	return 0;
}

int ww_set_make(struct ww_arena *mem, const struct ww_facts *const *facts, uint32_t n, const struct ww_set_opts *opts,
		struct ww_set *ret, struct ww_err *err)
{
	struct ww_set set;

	if (n == 1)
		return make_one(mem, facts, ret);
	struct ww_sync *s = ww_sync_new();
	for (uint32_t h = 0; h < n; h++)
		ww_sync_add(s, facts[h]);
	int rc = ww_sync_solve(s, mem, opts, &set, err);
	if (!rc) {
		set.hosts = facts;
		set.match = WW_ARENA_ARRAY(mem, struct ww_packet_ref *, n);
		for (uint32_t h = 0; h < n; h++)
			set.match[h] = matches_of(mem, s, facts[h], h);
		*ret = set;
	}
	ww_sync_free(s);
	return rc;
}
