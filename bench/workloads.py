#!/usr/bin/python3
"""workloads.py [-n PAIRS] [--light] [--small] [git|make|pgbench ...] - what recording costs real programs.

Interleaved pairs, each workload once bare and once recorded (order alternating), and the 95 % interval of the
paired difference. The machine's drift falls on both sides of a pair. A run's time is its own, from begin to end:
loading the programs and the state dump stand before it. Recording is by `whywait record`, the workload the target,
its system calls recorded in full; with pgbench the server is not the target. Installs bench/packages.txt.
$WHYWAIT names the program (default build/whywait). Exit status 1: a difference's interval reaches over 2 %, or
events were lost.
"""
import argparse, glob, json, math, os, re, shutil, statistics, subprocess, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WHYWAIT = os.environ.get("WHYWAIT", os.path.join(ROOT, "build", "whywait"))
# Two-sided 95 % points of Student's t for 1..30 degrees of freedom.
T95 = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12,
       2.11, 2.10, 2.09, 2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04]


def sh(cmd, **kw):
    return subprocess.run(cmd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kw)


# The command's own time, in seconds, into the file named first.
TIMED = 'f=$1; shift; a=$EPOCHREALTIME; "$@"; rc=$?; b=$EPOCHREALTIME; echo $a $b > "$f"; exit $rc'


class Git:
    files, units, transactions = 3000, 60, 3000
    name = "git clone of a local repository"

    def setup(self, d):
        self.src, self.dst = os.path.join(d, "src.git"), os.path.join(d, "clone")
        work = os.path.join(d, "work")
        sh(["git", "init", "-q", work])
        for i in range(self.files):
            p = os.path.join(work, "d%d" % (i % 60))
            os.makedirs(p, exist_ok=True)
            with open(os.path.join(p, "f%d" % i), "w") as f:
                f.write("".join("%d %d\n" % (i, j * i) for j in range(200)))
        sh(["git", "-C", work, "add", "."])
        sh(["git", "-C", work, "-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "x"])
        sh(["git", "clone", "-q", "--bare", work, self.src])

    def command(self):
        shutil.rmtree(self.dst, ignore_errors=True)
        return ["git", "clone", "-q", "--no-local", self.src, self.dst]

    def measure(self, out, wall):
        return wall

    def teardown(self):
        pass


class Make(Git):
    name = "make -j2 of C files"

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
        for o in glob.glob(os.path.join(self.d, "*.o")):
            os.unlink(o)
        return ["make", "-s", "-j2", "-C", self.d]


class Pgbench(Git):
    name = "pgbench TPC-B, 2 clients (seconds per 1000 transactions)"

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

    def measure(self, out, wall):
        return 1000 / float(re.search(rb"tps = ([0-9.]+)", out).group(1))

    def teardown(self):
        if not os.path.exists(os.path.join(self.data, "postmaster.pid")):
            return
        sh(self.su + [self.bin + "/pg_ctl", "-D", self.data, "-m", "immediate", "stop"], cwd="/tmp")


def run_once(w, recorded, d, light):
    """(the measure, None or (events, lost, bytes))"""
    trace, times = os.path.join(d, "trace"), os.path.join(d, "times")
    cmd = ["bash", "-c", TIMED, "bash", times] + w.command()
    shutil.rmtree(trace, ignore_errors=True)
    os.sync()
    if recorded:
        cmd = [WHYWAIT, "record", "-q", "-o", trace, "--as-root"] + (["--light"] if light else []) + ["--"] + cmd
    p = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/tmp")
    if p.returncode not in (0, 3) or not os.path.exists(times):
        sys.exit("%s: exit status %d: %s" % (cmd[0], p.returncode, p.stderr.decode()[-500:]))
    begin, end = map(float, open(times).read().split())
    os.unlink(times)
    seen = None
    if recorded:
        info = json.loads(subprocess.run([WHYWAIT, "info", "--json", trace], stdout=subprocess.PIPE).stdout)
        size = sum(os.path.getsize(os.path.join(a, f)) for a, _, fs in os.walk(trace) for f in fs)
        seen = (info["events"], info["lost"], size)
    return w.measure(p.stdout, end - begin), seen


def compare(w, n, light):
    """Prints a line; True when the goals are met."""
    diffs, bares, recs, seen = [], [], [], []
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="whywait-bench-") as d:
        try:
            w.setup(d)
            run_once(w, False, d, light)
            for i in range(n):
                pair = {}
                for rec in ((False, True) if i % 2 else (True, False)):
                    pair[rec], extra = run_once(w, rec, d, light)
                    if extra:
                        seen.append(extra)
                bares.append(pair[False])
                recs.append(pair[True])
                diffs.append((pair[True] - pair[False]) / pair[False] * 100)
        finally:
            w.teardown()
    half = T95[min(n - 1, 30) - 1] * statistics.stdev(diffs) / math.sqrt(n) if n > 1 else math.inf
    mean, lost = statistics.mean(diffs), sum(s[1] for s in seen)
    events = statistics.median(s[0] for s in seen)
    print("%-55s %9.3f %9.3f %+7.2f %% +- %6.2f %% %9d %9d %6d %7.1f" % (
        w.name, statistics.median(bares), statistics.median(recs), mean, half, events,
        events / statistics.median(recs), lost, sum(s[2] for s in seen) / sum(s[0] for s in seen)), flush=True)
    return mean + half < 2 and not lost


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("-n", type=int, default=10, help="pairs of each workload")
    ap.add_argument("--light", action="store_true")
    ap.add_argument("--small", action="store_true", help="runs of about a second, to see that it works")
    ap.add_argument("which", nargs="*", default=["git", "make", "pgbench"])
    a = ap.parse_args()
    subprocess.run([os.path.join(ROOT, "scripts/install-packages"), os.path.join(ROOT, "bench/packages.txt")], check=True)
    if a.small:
        Git.files, Git.units, Git.transactions = 1000, 8, 300
    kinds = {"git": Git, "make": Make, "pgbench": Pgbench}
    print("%-55s %9s %9s %22s %9s %9s %6s %7s" % ("workload", "bare s", "rec. s", "difference, 95 %", "events",
                                                  "events/s", "lost", "B/event"))
    good = [compare(kinds[k](), a.n, a.light) for k in a.which]
    sys.exit(0 if all(good) else 1)


main()
