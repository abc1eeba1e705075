/* block.bpf.h - requests to block devices. */
#ifndef WW_BLOCK_BPF_H
#define WW_BLOCK_BPF_H

#include "current.bpf.h"

/* LTTng's bits of `rwbs`. source lttng-modules instrumentation/events/block.h */
enum { RWBS_WRITE = 1, RWBS_DISCARD = 2, RWBS_READ = 4, RWBS_RAHEAD = 8, RWBS_SYNC = 32, RWBS_META = 64,
       RWBS_SECURE = 128, RWBS_FLUSH = 256, RWBS_FUA = 512, RWBS_PREFLUSH = 1024 };
/* Operation in the low 8 bits of cmd_flags, then flags. source include/linux/blk_types.h; the bits have
 * been the same from 6.1 to 6.18. */
enum { OP_READ = 0, OP_WRITE = 1, OP_FLUSH = 2, OP_DISCARD = 3, OP_SECURE_ERASE = 5, OP_WRITE_ZEROES = 9 };
enum { F_SYNC = 1 << 11, F_META = 1 << 12, F_FUA = 1 << 17, F_PREFLUSH = 1 << 18, F_RAHEAD = 1 << 19 };

static __always_inline u32 ww_rwbs(u32 flags)
{
	u32 r = 0;

	switch (flags & 0xff) {
	case OP_WRITE:
	case OP_WRITE_ZEROES:
		r = RWBS_WRITE;
		break;
	case OP_DISCARD:
		r = RWBS_DISCARD;
		break;
	case OP_SECURE_ERASE:
		r = RWBS_DISCARD | RWBS_SECURE;
		break;
	case OP_FLUSH:
		r = RWBS_FLUSH;
		break;
	case OP_READ:
		r = RWBS_READ;
		break;
	}
	if (flags & F_PREFLUSH)
		r |= RWBS_PREFLUSH;
	if (flags & F_FUA)
		r |= RWBS_FUA;
	if (flags & F_RAHEAD)
		r |= RWBS_RAHEAD;
	if (flags & F_SYNC)
		r |= RWBS_SYNC;
	if (flags & F_META)
		r |= RWBS_META;
	return r;
}

/* block_rq_insert, block_rq_issue: dev sector nr_sector bytes tid rwbs comm */
static __always_inline void ww_emit_rq(u32 id, struct request *rq)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	u32 bytes = rq->__data_len;
	u64 sector = rq->__sector;
	struct ww_slot s;
	u8 *p;

	ww_see(cur);
	p = ww_reserve(&s, id, 44);

	if (!p)
		return;
	ww_put32(p, 0, ww_rq_dev(rq));
	ww_put64(p, 4, sector == ~0ull ? 0 : sector);
	ww_put32(p, 12, bytes >> 9);
	ww_put32(p, 16, bytes);
	ww_put32(p, 20, cur->pid);
	ww_put32(p, 24, ww_rwbs(rq->cmd_flags));
	ww_put_comm(p, 28, cur);
	ww_commit(&s);
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(ww_block_rq_insert, struct request *rq)
{
	ww_emit_rq(WW_EV_BLOCK_RQ_INSERT, rq);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(ww_block_rq_issue, struct request *rq)
{
	ww_emit_rq(WW_EV_BLOCK_RQ_ISSUE, rq);
	return 0;
}

SEC("tp_btf/block_rq_merge")
int BPF_PROG(ww_block_rq_merge, struct request *rq)
{
	ww_emit_rq(WW_EV_BLOCK_RQ_MERGE, rq);
	return 0;
}

/* dev sector nr_sector rwbs tid comm. The device is the partition that the bio was for, the sector the disk's. */
static __always_inline void ww_emit_bio(u32 id, struct bio *bio)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	struct ww_slot s;
	u8 *p;

	ww_see(cur);
	p = ww_reserve(&s, id, 40);

	if (!p)
		return;
	ww_put32(p, 0, bio->bi_bdev->bd_dev);
	ww_put64(p, 4, bio->bi_iter.bi_sector);
	ww_put32(p, 12, bio->bi_iter.bi_size >> 9);
	ww_put32(p, 16, ww_rwbs(bio->bi_opf));
	ww_put32(p, 20, cur->pid);
	ww_put_comm(p, 24, cur);
	ww_commit(&s);
}

SEC("tp_btf/block_bio_backmerge")
int BPF_PROG(ww_block_bio_backmerge, struct bio *bio)
{
	ww_emit_bio(WW_EV_BLOCK_BIO_BACKMERGE, bio);
	return 0;
}

SEC("tp_btf/block_bio_frontmerge")
int BPF_PROG(ww_block_bio_frontmerge, struct bio *bio)
{
	ww_emit_bio(WW_EV_BLOCK_BIO_FRONTMERGE, bio);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(ww_block_rq_complete, struct request *rq, u8 error, unsigned int bytes)
{
	u64 sector = rq->__sector;
	struct ww_slot s;
	u8 *p = ww_reserve(&s, WW_EV_BLOCK_RQ_COMPLETE, 24);

	if (!p)
		return 0;
	ww_put32(p, 0, ww_rq_dev(rq));
	ww_put64(p, 4, sector == ~0ull ? 0 : sector);
	ww_put32(p, 12, bytes >> 9);
	ww_put32(p, 16, error ? -5 : 0); /* block's own codes are not errno's: EIO stands for any */
	ww_put32(p, 20, ww_rwbs(rq->cmd_flags));
	ww_commit(&s);
	return 0;
}

SEC("tp_btf/block_rq_requeue")
int BPF_PROG(ww_block_rq_requeue, struct request *rq)
{
	u64 sector = rq->__sector;
	struct ww_slot s;
	u8 *p = ww_reserve(&s, WW_EV_BLOCK_RQ_REQUEUE, 20);

	if (!p)
		return 0;
	ww_put32(p, 0, ww_rq_dev(rq));
	ww_put64(p, 4, sector == ~0ull ? 0 : sector);
	ww_put32(p, 12, rq->__data_len >> 9);
	ww_put32(p, 16, ww_rwbs(rq->cmd_flags));
	ww_commit(&s);
	return 0;
}

#endif
