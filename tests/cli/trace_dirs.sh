# A directory is one recording: of a flight recorder's the newest snapshot, of several they are named and none is
# taken; who recorded it is who did, whatever tracer's events they are.
tar xzf "$WW_SRC/tests/data/demo.ctf.tar.gz"
"$WHYWAIT" info demo.ctf | grep '^recorder'
mkdir -p flight two
cp -r demo.ctf flight/snapshot-2
cp -r demo.ctf flight/snapshot-10
cp -r demo.ctf flight/snapshot-11.part
"$WHYWAIT" info flight 2> err | sed -n 's/^trace *//p'
cat err
"$WHYWAIT" info -q flight/ 2>&1 > /dev/null
"$WHYWAIT" report -q flight > a; "$WHYWAIT" report -q demo.ctf > b
cmp a b && echo "the same report"
cp -r demo.ctf two/one.ctf
cp -r demo.ctf two/other.ctf
"$WHYWAIT" info -q two > /dev/null && echo "two parts of one recording are read together"
/usr/bin/python3 - two/other.ctf << 'PY'
import os, re, sys
meta = open(sys.argv[1] + '/metadata', 'rb').read()
uuid = meta[4:20]
text = re.search(rb'uuid = "([0-9a-f-]{36})"', meta).group(1)
assert bytes.fromhex(text.decode().replace('-', '')) == uuid
new = bytes(b ^ 0x55 for b in uuid)
h = new.hex()
for name in os.listdir(sys.argv[1]):
    path = os.path.join(sys.argv[1], name)
    if os.path.isfile(path):
        b = open(path, 'rb').read()
        b = b.replace(uuid, new).replace(text, ('%s-%s-%s-%s-%s' % (h[:8], h[8:12], h[12:16], h[16:20], h[20:])).encode())
        open(path, 'wb').write(b)
PY
"$WHYWAIT" report two 2>&1; echo $?
"$WHYWAIT" info -q two/other.ctf > /dev/null && echo "by itself it is read"
# A trace that is still marked as being recorded, and nobody records it.
touch demo.ctf/.recording
"$WHYWAIT" report demo.ctf 2>&1 > /dev/null
"$WHYWAIT" report -q demo.ctf 2>&1 > /dev/null
flock demo.ctf "$WHYWAIT" info demo.ctf 2>&1 > /dev/null
