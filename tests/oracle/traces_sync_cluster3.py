#!/usr/bin/python3
"""`sync` on three real kernels with clocks of their own (the trace cluster3, by LTTng), against

  babeltrace2: packets read by it and matched here, by all header fields, must arrive after they were sent, and
      be as many as sync counts;
  the application: what the client and the web server wrote down of each request, by their own clocks, must nest;
  the machine that ran them: offsets that it measured, good to some ms (clocks.txt).

WW_TRACES in the environment; exit 77 without the trace. TAP."""
import glob, itertools, json, os, re, subprocess, sys
import jsonschema

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

HERE = os.path.dirname(os.path.abspath(__file__))
DIR = os.path.join(os.environ.get('WW_TRACES', ''), 'cluster3')
HOSTS = ['client', 'web', 'db']
W = os.environ.get('WHYWAIT', 'build/whywait')
tap = Tap()
ok = tap.ok


def correct(h, t):
    return t + h['offset_ns'] + (t - h['t0_ns']) * round(h['drift_ppm'] * 10**9) // 10**15


def packets(host):
    """[(key, sent, epoch ns)] of TCP/IPv4"""
    import bt2
    out = []
    for m in bt2.TraceCollectionMessageIterator(os.path.join(DIR, host, 'trace/kernel')):
        if type(m) is not bt2._EventMessageConst or m.event.name not in ('net_dev_queue', 'net_if_receive_skb'):
            continue
        p = m.event.payload_field
        if int(p['network_header_type']) != 1:
            continue
        ip = p['network_header'].selected_option
        if int(ip['transport_header_type']) != 1:
            continue
        t = ip['transport_header'].selected_option
        key = tuple(map(int, list(ip['saddr']) + list(ip['daddr']) + [ip['tot_len'], t['source_port'], t['dest_port'], t['seq'],
                    t['ack_seq'], t['flags'], t['data_offset']]))
        out.append((key, m.event.name == 'net_dev_queue', m.default_clock_snapshot.ns_from_origin))
    return out


def by_babeltrace2(answer):
    host = {h['host']: h for h in answer['hosts']}
    seen = {h: packets(h) for h in HOSTS}
    matched, early = {}, []
    for a in HOSTS:
        sent = {}
        for key, s, t in seen[a]:
            if s:
                sent.setdefault(key, []).append(t)
        for b in HOSTS:
            if a == b:
                continue
            for key, s, t in seen[b]:
                if s or key not in sent:
                    continue
                pair = tuple(sorted((a, b)))
                matched[pair] = matched.get(pair, 0) + 1
                if correct(host[b], t) < correct(host[a], sent[key][0]):
                    early.append('%s -> %s: %s' % (a, b, key))
    ok(not early, 'no packet that babeltrace2 shows arrives before it was sent', early)
    ours = {tuple(sorted((p['a'], p['b']))): p['matched'] for p in answer['pairs']}
    ok(ours == matched, 'as many packets are matched: %s' % sorted(matched.items()), [str(sorted(ours.items()))])


def rows(path):
    return [l.split() for l in open(path) if not l.startswith('#')]


def by_application(answer):
    host = {h['host']: h for h in answer['hosts']}
    client = rows(os.path.join(DIR, 'client/client.tsv'))
    web = rows(os.path.join(DIR, 'web/web.tsv'))[-len(client):]     # the first is the warm-up's
    bad = []
    for c, w in zip(client, web):
        c0, c1 = (correct(host['client'], int(t)) for t in c[2:4])
        w0, w1 = correct(host['web'], int(w[2])), correct(host['web'], int(w[6]))
        if not c0 <= w0 <= w1 <= c1:
            bad.append('request %s: client %d .. %d, web %d .. %d' % (c[0], 0, c1 - c0, w0 - c0, w1 - c0))
    ok(len(client) == 20 and not bad, "each of the 20 requests' time at the web server lies within the client's", bad)


def by_machine(answer):
    """clocks.txt: guest minus host, s, at begin and end of the run."""
    host = {h['host']: h for h in answer['hosts']}
    off = {l.split('\t')[0]: [float(x) for x in re.findall(r'guest-host (-?[\d.]+) s', l)]
           for l in open(os.path.join(DIR, 'clocks.txt'))}
    ref = next(h['host'] for h in answer['hosts'] if h['reference'])
    bad = []
    for h in HOSTS:
        lo, hi = sorted(r - g for r, g in zip(off[ref], off[h]))
        if not lo - 0.02 <= host[h]['offset_ns'] / 1e9 <= hi + 0.02:
            bad.append('%s: %.6f s, measured %.6f .. %.6f' % (h, host[h]['offset_ns'] / 1e9, lo, hi))
    ok(not bad, 'the offsets are those that the machine measured, to 20 ms', bad)


def by_sql(answer, traces):
    """The same as tables: sync, sync_pair, sync_bend."""
    def ask(query):
        p = subprocess.run([W, 'sql', '--json', '-q', *traces, query], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60)
        return json.loads(p.stdout)['rows']
    name = [h['host'] for h in answer['hosts']]
    got = [{**r, 'via': r['via'] if r['via'] is None else name[r['via']], 'reference': bool(r['reference'])} for r in ask('SELECT * FROM sync ORDER BY 1')]
    ok([r.pop('machine_id') for r in got] == [0, 1, 2] and got == [{k: v for k, v in h.items() if k != 'bends'} for h in answer['hosts']],
       'the table sync has the same of each host', [str(got), str(answer['hosts'])])
    got = [{**r, 'a': name[r['a']], 'b': name[r['b']]} for r in ask('SELECT * FROM sync_pair ORDER BY a, b')]
    ok(got == sorted(answer['pairs'], key=lambda q: (name.index(q['a']), name.index(q['b']))), 'and sync_pair of each pair', [str(got), str(answer['pairs'])])
    got = ask('SELECT * FROM sync_bend')
    ok(len(got) == sum(len(h.get('bends', [])) for h in answer['hosts']), 'and sync_bend of each bend', str(got))


def main():
    traces = [os.path.join(DIR, h, 'trace/kernel') for h in HOSTS]
    if not all(os.path.isdir(t) for t in traces):
        print('no trace cluster3 below WW_TRACES')
        return 77
    p = subprocess.run([W, 'sync', '--json', '--no-store'] + traces, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60)
    answer = json.loads(p.stdout)
    try:
        jsonschema.validate(answer, json.load(open(os.path.join(os.path.dirname(HERE), 'schema/sync.json'))))
        why = ''
    except jsonschema.ValidationError as e:
        why = str(e)
    ok(not why, 'the JSON is as its schema says', why.splitlines())
    ok(p.returncode == 0 and all(h['accuracy'] in ('accurate', 'reference') for h in answer['hosts']), 'all three are accurate')
    ok(len(answer['pairs']) == 2 and not any(q['violations_after'] or q['unmatched'] for q in answer['pairs']),
       'two pairs, nothing without its other end, nothing too early', [str(q) for q in answer['pairs']])
    by_babeltrace2(answer)
    by_application(answer)
    by_machine(answer)
    by_sql(answer, traces)
    hosts, pairs = set(), {}
    for order in itertools.permutations(traces):
        p = subprocess.run([W, 'sync', '--json', '--no-store'] + list(order), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60)
        a = json.loads(p.stdout)
        ok([h['trace'] for h in a['hosts']] == list(order), 'hosts stand in the order in which they were given')
        hosts.add(json.dumps(sorted(a['hosts'], key=lambda h: h['host'])))
        for q in a['pairs']:
            pairs.setdefault((q.pop('a'), q.pop('b')), set()).add(json.dumps(q))
    ok(len(hosts) == 1, 'the clocks are the same in whatever order the traces are given', sorted(hosts))
    ok(len(pairs) == 4 and all(len(q) == 1 for q in pairs.values()), 'and what is said of each pair', [str(pairs)])
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
