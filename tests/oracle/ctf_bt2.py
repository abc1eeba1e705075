"""Reads CTF traces with babeltrace2's Python bindings: `PYTHON ctf_bt2.py` takes a path a line and answers each
with one pickle: {'streams': {key: [(time, cpu, name, payload, contexts), ...]}, 'times': [...]} or an error's text.
Run by ctf.py, with Debian 12's Python or a later one's.
"""
import pickle, sys
import bt2


def is_a(f, name):
    return hasattr(bt2, name) and isinstance(f, getattr(bt2, name))


def value(f):
    """A field as the JSON of whywait has it; None: an optional field that is not there."""
    if is_a(f, '_OptionFieldConst'):
        return value(f.field) if f.has_field else None
    if is_a(f, '_VariantFieldConst'):
        i = f.selected_option_index
        name = list(f.cls)[i] if not hasattr(f.cls, 'option_at_index') else f.cls.option_at_index(i).name
        return {str(i) if name is None else name: value(f.selected_option)}
    if is_a(f, '_StructureFieldConst'):
        return {k: value(f[k]) for k in f if not (is_a(f[k], '_OptionFieldConst') and not f[k].has_field)}
    if is_a(f, '_BlobFieldConst'):
        return list(bytes(f.data))
    if is_a(f, '_ArrayFieldConst'):
        return [value(x) for x in f]
    if is_a(f, '_BitArrayFieldConst'):
        return int(f.value_as_integer)
    if is_a(f, '_BoolFieldConst'):
        return int(bool(f))
    if is_a(f, '_IntegerFieldConst'):
        return int(f)
    if is_a(f, '_RealFieldConst'):
        return float(f)
    return str(f)


def read(path):
    """Events by stream, in order; and all times in the order of delivery."""
    streams, times = {}, []
    for m in bt2.TraceCollectionMessageIterator(path):
        if type(m) is not bt2._EventMessageConst:
            continue
        e = m.event
        s = e.packet.stream
        ctx = {}
        for c in (e.common_context_field, e.specific_context_field):
            if c is not None:
                ctx.update(value(c))
        pc = e.packet.context_field
        cpu = pc['cpu_id'] if pc is not None and 'cpu_id' in pc else None
        t = m.default_clock_snapshot.ns_from_origin
        trace = str(s.trace.name)
        try:
            trace = str(s.trace.uuid)
        except (AttributeError, ValueError):  # of CTF 2
            pass
        streams.setdefault((trace, s.cls.id, s.id), []).append(
            (t, None if cpu is None else int(cpu), e.name, value(e.payload_field) if e.payload_field is not None else {}, ctx))
        times.append(t)
    return {'streams': streams, 'times': times}


if __name__ == '__main__':
    out = sys.stdout.buffer
    for line in sys.stdin:
        try:
            got = read(line.rstrip('\n'))
        except Exception as e:  # its reason is the answer
            got = '%s: %s' % (type(e).__name__, e)
        pickle.dump(got, out)
        out.flush()
