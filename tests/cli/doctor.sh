# The exit status says what can_record says, and each row has its four keys.
"$WHYWAIT" doctor --json > d.json
rc=$?
/usr/bin/python3 - $rc <<'PY'
import json, sys
d = json.load(open('d.json'))
print(sorted(d))
print(' '.join(c['id'] for c in d['checks']))
print('keys', all(sorted(c) == ['found', 'id', 'level', 'todo'] for c in d['checks']))
print('levels', {c['level'] for c in d['checks']} <= {'ok', 'note', 'bad'})
print('told what to do', all(c['todo'] for c in d['checks'] if c['level'] == 'bad'))
print('exit', d['can_record'] == (sys.argv[1] == '0') == all(c['level'] != 'bad' for c in d['checks']))
PY
