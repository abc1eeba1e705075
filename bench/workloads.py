#!/usr/bin/python3
"""workloads.py [-t SECONDS] [--light] [--small] [--where] [git|git-loose|make|pgbench ...] - what recording costs real
programs; without names git, make and pgbench.

git        `git clone` of a repository as one finds it on one's disk: 2500 text files of some 13 KB, three of four of them
           under 13 KB and the largest of a megabyte or so, 100 commits, packed; git links to the pack and unpacks the
           files. Most of a clone's system calls are still there: five for each file. A run is four clones
git-loose  the worst that we know of git: 3000 objects of 2 KB, none packed, sent through a pipe (--no-local). Processes
           that open, map and close a tiny file for each object, so 50,000 system calls and as many page faults a second
make       gcc -O2 on C files of 120 small functions, two at a time
pgbench    its TPC-B script, 2 clients, a database of scale 5: commits that wait for the disk

Rounds of three runs of a workload: bare, recorded, bare. The difference of a round is the recorded run's from the mean
of its neighbours', so that a steady drift of the machine falls out; the neighbours' own difference is the noise, which
the same runs have without any recording. Of both the mean and its 95 % interval, as many rounds as fit in the time. A
run's time is its own, from begin to end: loading the programs and the state dump stand before it. Recording is by
`whywait record`, the workload the target, its system calls recorded in full; with pgbench the server is not the target.
Bare and recorded runs do the same work and come into it the same way, or else they differ by more than recording costs:
- A clone's files are made in a directory of its own each time, and nothing is removed before the end. ext4 without a journal
  looks at each inode that was removed in the last minutes before it takes another one: a clone just after a removal took
  0.6 to 1.2 s instead of 0.33 s. So what others remove on that file system meanwhile is noise, and what was removed in the
  five minutes before, as all this program's files are at its end: wait so long before the next measurement.
- They are emptied, which no measured run sees: their memory serves the next run. A virtual machine's host gives it new
  memory page by page, at some microseconds each.
- All is written to the disk before a run, and a recording is made before a bare run too (of a command that does nothing):
  the same pause, the same programs loaded and taken away, before both.

The second line of each is the same of the CPU time that the workload took (with pgbench the server's too): our
programs' is in it, the recorder's own is not (--where). It says something on a busy machine too.

--where: one recorded run of each instead, in which the kernel times our programs (kernel.bpf_stats_enabled, whose own
clock makes a run of a program some 40 ns longer): what each program, and the reader, took of the workload's CPU time.
The programs see the whole machine, so this is of use only where nothing else runs, or with `chrt -f 10` before it.

Installs bench/packages.txt. $WHYWAIT names the program (default build/whywait). Exit status 1: a difference's interval
reaches over 2 %, or events were lost.
"""
import argparse, glob, json, math, os, random, re, shutil, statistics, subprocess, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WHYWAIT = os.environ.get("WHYWAIT", os.path.join(ROOT, "build", "whywait"))
# Two-sided 95 % points of Student's t for 1..30 degrees of freedom.
T95 = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12,
       2.11, 2.10, 2.09, 2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04]


def sh(cmd, **kw):
    return subprocess.run(cmd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kw)


# The command's own time, in seconds, into the file named first; then what it and its children took of the CPUs. The
# second word is asked before and after.
TIMED = """f=$1 probe=$2; shift 2; $probe $f.0 $PPID; times > $f.t0; a=$EPOCHREALTIME; "$@"; rc=$?; b=$EPOCHREALTIME
times > $f.t1; $probe $f.1 $PPID; echo $a $b > $f; exit $rc"""


def cmdline(pid):
    """Empty of a process that has ended, and has not been waited for."""
    try:
        return open("/proc/%s/cmdline" % pid, "rb").read()
    except OSError:
        return b""


def probe(out, pid):
    """What the recorder, process `pid`, and its programs have taken so far: into the file `out`."""
    ids = set()
    for f in glob.glob("/proc/%d/fdinfo/*" % pid):
        try:
            ids |= {int(x) for x in re.findall(r"^prog_id:\s*(\d+)", open(f).read(), re.M)}
        except OSError:
            pass
    progs = json.loads(subprocess.run(["bpftool", "-j", "prog", "show"], stdout=subprocess.PIPE).stdout)
    status = open("/proc/%d/status" % pid).read()
    ran_ns = sum(int(open(f).read().split()[0]) for f in glob.glob("/proc/%d/task/*/schedstat" % pid))
    json.dump({"progs": {p["name"]: (p.get("run_cnt", 0), p.get("run_time_ns", 0)) for p in progs if p["id"] in ids},
               "reader_s": ran_ns / 1e9,
               "wakeups": int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.M).group(1)),
               "written": int(re.search(r"^write_bytes: (\d+)", open("/proc/%d/io" % pid).read(), re.M).group(1))},
              open(out, "w"))


class Git:
    name, files, commits, clones = "git clone of a packed repository", 2500, 100, 4

    def setup(self, d):
        self.src, self.dst, self.runs = os.path.join(d, "src.git"), os.path.join(d, "clone"), 0
        draw = random.Random(1)
        words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz_", k=draw.randint(2, 11))) for _ in range(2500)]
        lines = ["\t" * draw.randint(0, 3) + " ".join(draw.choices(words, k=draw.randint(1, 9))) + ";\n" for _ in range(20000)]
        texts = {"d%d/e%d/f%d.c" % (i % 12, i // 12 % 20, i): draw.choices(lines, k=max(3, int(draw.lognormvariate(5.2, 1.1))))
                 for i in range(self.files)}
        sh(["git", "init", "-q", "--bare", self.src])
        p = subprocess.Popen(["git", "-C", self.src, "fast-import", "--quiet"], stdin=subprocess.PIPE)
        for c in range(self.commits):
            p.stdin.write(b"commit refs/heads/master\ncommitter b <b@b> %d +0000\ndata 0\n" % (1700000000 + c))
            for name in draw.sample(sorted(texts), 25) if c else texts:
                for _ in range(4):
                    texts[name][draw.randrange(len(texts[name]))] = draw.choice(lines)
                text = "".join(texts[name]).encode()
                p.stdin.write(b"M 100644 inline %s\ndata %d\n%s\n" % (name.encode(), len(text), text))
        p.stdin.close()
        if p.wait():
            raise RuntimeError("git fast-import failed")
        sh(["git", "-C", self.src, "symbolic-ref", "HEAD", "refs/heads/master"])
        sh(["git", "-C", self.src, "repack", "-adq"])

    def command(self, options=""):
        self.runs += 1
        return ["sh", "-c", "for i in %s; do git clone -q %s $0 $1.$i || exit; done" % (
            " ".join(map(str, range(self.clones))), options), self.src, "%s-%d" % (self.dst, self.runs)]

    def after(self):
        """Once a run has been measured."""
        for top in glob.glob("%s-%d.*" % (self.dst, self.runs)):
            for where, _, names in os.walk(top):
                for path in (os.path.join(where, n) for n in names):
                    if os.lstat(path).st_nlink == 1: # not the source's packs
                        os.truncate(path, 0)

    def measure(self, out, wall):
        return wall

    def others_s(self):
        """CPU time so far of processes that work for it and are not its children."""
        return 0

    def teardown(self):
        pass


class GitLoose(Git):
    name, files, clones = "git clone of 3000 loose objects", 3000, 2

    def setup(self, d):
        self.src, self.dst, self.runs = os.path.join(d, "src.git"), os.path.join(d, "clone"), 0
        work = os.path.join(d, "work")
        sh(["git", "init", "-q", work])
        for i in range(self.files):
            p = os.path.join(work, "d%d" % (i % 60))
            os.makedirs(p, exist_ok=True)
            with open(os.path.join(p, "f%d" % i), "w") as f:
                f.write("".join("%d %d\n" % (i, j * i) for j in range(200)))
        sh(["git", "-C", work, "add", "."])
        sh(["git", "-C", work, "-c", "user.name=b", "-c", "user.email=b@b", "-c", "gc.auto=0", "commit", "-qm", "x"])
        sh(["git", "clone", "-q", "--bare", work, self.src])

    def command(self):
        return super().command("--no-local")


class Make(Git):
    name, units = "make -j2 of C files", 24

    def setup(self, d):
        self.d = os.path.join(d, "mk")
        os.makedirs(self.d)
        names = ["u%d" % i for i in range(self.units)]
        for n in names:
            with open(os.path.join(self.d, n + ".c"), "w") as f:
                f.write("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n")
                for k in range(120):
                    f.write("int %s_%d(int a){int s=0;for(int i=0;i<a;i++)s+=i*%d;return s;}\n" % (n, k, k))
        with open(os.path.join(self.d, "Makefile"), "w") as f:
            f.write("all: " + " ".join(n + ".o" for n in names) + "\n%.o: %.c\n\tgcc -O2 -c -o $@ $<\n")

    def command(self):
        return ["make", "-s", "-B", "-j2", "-C", self.d]

    def after(self):
        pass


class Pgbench(Git):
    name, transactions = "pgbench TPC-B, s per 1000 transactions", 1500

    def setup(self, d):
        bins = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not bins:
            raise RuntimeError("PostgreSQL is not installed (apt-get install postgresql)")
        self.bin, self.data = bins[-1], os.path.join(d, "pg")
        os.makedirs(self.data)
        os.chmod(d, 0o755)
        shutil.chown(self.data, "postgres", "postgres")
        self.su = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        sh(self.su + [self.bin + "/initdb", "-D", self.data], cwd="/tmp")
        sh(self.su + [self.bin + "/pg_ctl", "-D", self.data, "-w", "-l", "/dev/null", "-o",
                      "-p 54329 -k /tmp -c listen_addresses=''", "start"], cwd="/tmp")
        self.conn = ["-h", "/tmp", "-p", "54329", "-U", "postgres"]
        sh(self.su + [self.bin + "/createdb"] + self.conn + ["bench"], cwd="/tmp")
        sh(self.su + [self.bin + "/pgbench"] + self.conn + ["-i", "-s", "5", "bench"], cwd="/tmp")

    def command(self):
        return self.su + [self.bin + "/pgbench"] + self.conn + ["-c", "2", "-j", "2", "-t", str(self.transactions), "bench"]

    def after(self):
        pass

    def measure(self, out, wall):
        return 1000 / float(re.search(rb"tps = ([0-9.]+)", out).group(1))

    def others_s(self):
        pid = open(os.path.join(self.data, "postmaster.pid")).readline().strip()
        until = time.monotonic() + 5
        while time.monotonic() < until: # a backend ends after its client, and counts when its parent has seen it
            children = open("/proc/%s/task/%s/children" % (pid, pid)).read().split()
            if not any(not line or b"postgres bench" in line for line in map(cmdline, children)):
                break
            time.sleep(0.01)
        fields = open("/proc/%s/stat" % pid).read().rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") # its own and those of backends that ended

    def teardown(self):
        if not os.path.exists(os.path.join(self.data, "postmaster.pid")):
            return
        sh(self.su + [self.bin + "/pg_ctl", "-D", self.data, "-m", "immediate", "stop"], cwd="/tmp")


def run_once(w, recorded, d, light, probing="true"):
    """(the measure, CPU seconds, None or (events, lost, bytes), wall seconds)"""
    trace, times = tempfile.mkdtemp(dir=d, prefix="trace-"), os.path.join(d, "times")
    cmd = ["bash", "-c", TIMED, "bash", times, probing] + w.command()
    record = [WHYWAIT, "record", "-q", "-o", os.path.join(trace, "t"), "--as-root"] + (["--light"] if light else []) + ["--"]
    open(times, "w").close()
    os.sync()
    others = w.others_s()
    if recorded:
        cmd = record + cmd
    else:
        sh(record + ["true"])
    p = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/tmp")
    if p.returncode not in (0, 3) or not os.path.getsize(times):
        sys.exit("%s: exit status %d: %s" % (cmd[0], p.returncode, p.stderr.decode()[-500:]))
    begin, end = map(float, open(times).read().split())
    seen = None
    if recorded:
        trace = os.path.join(trace, "t")
        info = json.loads(subprocess.run([WHYWAIT, "info", "--json", trace], stdout=subprocess.PIPE).stdout)
        size = sum(os.path.getsize(os.path.join(a, f)) for a, _, fs in os.walk(trace) for f in fs)
        seen = (info["events"], info["lost"], size)
    cpu = cpu_s(times + ".t1") - cpu_s(times + ".t0") + w.others_s() - others
    w.after()
    return w.measure(p.stdout, end - begin), cpu, seen, end - begin


def interval(values):
    """(mean, half of its 95 % interval)"""
    n = len(values)
    if n < 2:
        return values[0], math.inf
    return statistics.mean(values), T95[min(n - 1, 30) - 1] * statistics.stdev(values) / math.sqrt(n)


def compare(w, seconds, light, d):
    """Prints two lines; True when the goals are met."""
    rounds = []
    run_once(w, False, d, light)
    end = time.monotonic() + seconds
    while len(rounds) < 2 or time.monotonic() + (time.monotonic() - end + seconds) / len(rounds) < end:
        rounds.append([run_once(w, recorded, d, light) for recorded in (False, True, False)])
    seen = [r[1][2] for r in rounds]
    lost, events = sum(s[1] for s in seen), statistics.median(s[0] for s in seen)
    for what, name in ((0, w.name), (1, "  of CPU time")):
        diffs, noise = [], []
        for a, rec, b in ([run[what] for run in r] for r in rounds):
            diffs.append((rec - (a + b) / 2) / (a + b) * 200)
            noise.append((b - a) / (a + b) * 200 * (-1) ** len(diffs)) # which of the two is first alternates
        bare = statistics.median(run[what] for r in rounds for run in (r[0], r[2]))
        recorded = statistics.median(r[1][what] for r in rounds)
        mean, half = interval(diffs)
        print("%-40s %6d %9.3f %9.3f %+7.2f %% +- %5.2f %% %+6.2f %% +- %5.2f %%" % (
            (name, len(rounds), bare, recorded, mean, half) + interval(noise)), end="")
        if what == 0:
            good = mean + half < 2 and not lost
            print(" %9d %9d %6d %7.1f" % (events, events / statistics.median(r[1][3] for r in rounds), lost,
                                          sum(s[2] for s in seen) / sum(s[0] for s in seen)), end="")
        print(flush=True)
    return good


def cpu_s(path):
    """Of `times`: the children's, second line."""
    user, system = (int(m) * 60 + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", open(path).readlines()[1]))
    return user + system


def where(w, light, d):
    """Prints what of the workload's CPU time our programs and the reader took."""
    f = os.path.join(d, "times")
    run_once(w, False, d, light)
    others = w.others_s()
    events, lost = run_once(w, True, d, light, "/usr/bin/python3 %s --probe" % os.path.abspath(__file__))[2][:2]
    before, after = (json.load(open(f + x)) for x in (".0", ".1"))
    cpu = cpu_s(f + ".t1") - cpu_s(f + ".t0") + w.others_s() - others
    rows = []
    for name, (runs, ns) in after["progs"].items():
        b = before["progs"].get(name, (0, 0))
        rows.append((ns - b[1], runs - b[0], name))
    rows.sort(reverse=True)
    total, reader = sum(r[0] for r in rows) / 1e9, after["reader_s"] - before["reader_s"]
    print("%s: %.2f s of CPU time, %d events, %d lost" % (w.name, cpu, events, lost))
    print("  %-28s %6.2f %%  %9d runs  %6.0f ns each" % ("all programs", total / cpu * 100, sum(r[1] for r in rows),
                                                       total * 1e9 / max(1, sum(r[1] for r in rows))))
    for ns, runs, name in rows[:14]:
        print("    %-26s %6.2f %%  %9d runs  %6.0f ns each" % (name, ns / 1e7 / cpu, runs, ns / max(1, runs)))
    print("  %-28s %6.2f %%  %9d wakeups  %.1f MB written" % (
        "reader", reader / cpu * 100, after["wakeups"] - before["wakeups"],
        (after["written"] - before["written"]) / 1e6), flush=True)


def main():
    if sys.argv[1:2] == ["--probe"]:
        return probe(sys.argv[2], int(sys.argv[3]))
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("-t", type=float, default=450, metavar="SECONDS", help="for each workload (450)")
    ap.add_argument("--light", action="store_true")
    ap.add_argument("--small", action="store_true", help="runs of about a second, to see that it works")
    ap.add_argument("--where", action="store_true", help="which of our programs cost how much, instead")
    ap.add_argument("which", nargs="*", default=["git", "make", "pgbench"])
    a = ap.parse_args()
    subprocess.run([os.path.join(ROOT, "scripts/install-packages"), os.path.join(ROOT, "bench/packages.txt")], check=True)
    if a.small:
        Git.files, Git.commits, GitLoose.files, Make.units, Pgbench.transactions = 500, 10, 1000, 8, 300
    kinds = {"git": Git, "git-loose": GitLoose, "make": Make, "pgbench": Pgbench}
    if set(a.which) - set(kinds):
        ap.error("workloads are " + ", ".join(kinds))
    if not a.where:
        print("%-40s %6s %9s %9s %20s %20s %9s %9s %6s %7s" % (
            "workload", "rounds", "bare s", "rec. s", "difference, 95 %", "bare against bare", "events", "events/s", "lost", "B/event"))
    good = True
    stats = "/proc/sys/kernel/bpf_stats_enabled"
    was = open(stats).read()
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="whywait-bench-") as top:
        os.chmod(top, 0o755)
        for k in a.which:
            w, d = kinds[k](), os.path.join(top, k)
            os.mkdir(d)
            try:
                w.setup(d)
                if a.where:
                    open(stats, "w").write("1")
                    where(w, a.light, d)
                else:
                    good &= compare(w, a.t, a.light, d)
            finally:
                open(stats, "w").write(was)
                w.teardown()
    return 0 if good else 1


sys.exit(main())
