#!/usr/bin/python3
"""aarch64 is kept compiling: the eBPF object for arm64, and every source file of the program for aarch64, with
the build's options (syntax and types; nothing is linked or run). clang is the compiler, since Debian's gcc for
aarch64 cannot be installed beside gcc-multilib, which tests/truth needs. TAP.
"""
import json, os, shlex, shutil, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

SRC, BUILD = os.environ["WW_SRC"], os.environ["WW_BUILD"]
HEADERS = "/usr/aarch64-linux-gnu/include"
BPFTOOL = shutil.which("bpftool") or "/usr/sbin/bpftool"
DROP_NEXT = {"-o", "-MF", "-MQ", "-c"}
checks = []


def ok(good, text, detail=""):
    checks.append(good)
    print("%sok %d - %s" % ("" if good else "not ", len(checks), text))
    for line in detail.splitlines()[:12]:
        print("#   " + line)


def skeletons(out):
    """Every eBPF object of the build, compiled for arm64; skeletons into out."""
    n, bad = 0, ""
    for folder, _, names in os.walk(os.path.join(SRC, "src")):
        for name in sorted(f for f in names if f.endswith(".bpf.c")):
            base = name[:-len(".bpf.c")]
            obj = os.path.join(out, base + ".o")
            sub = os.path.join(out, os.path.relpath(folder, os.path.join(SRC, "src"))).removesuffix("/bpf")
            os.makedirs(sub, exist_ok=True)
            r = subprocess.run(["clang", "-g", "-O2", "-mcpu=v3", "-target", "bpf", "-D__TARGET_ARCH_arm64", "-Wall",
                                "-Werror", "-idirafter", HEADERS, "-I" + os.path.join(SRC, "src"),
                                "-c", os.path.join(folder, name), "-o", obj], capture_output=True, text=True)
            bad += r.stderr
            n += 1
            if r.returncode == 0:
                with open(os.path.join(sub, base + ".skel.h"), "w") as f:
                    subprocess.run([BPFTOOL, "gen", "skeleton", obj, "name", base + "_bpf"], stdout=f, check=True)
    return n, bad


def command(entry, out):
    words, args = shlex.split(entry["command"]), []
    words = words[2:] if os.path.basename(words[0]) == "ccache" else words[1:]
    while words:
        w = words.pop(0)
        if w in DROP_NEXT:
            words.pop(0)
        elif w not in ("-MD", "-fPIC") and not w.startswith(("-fsanitize", "-m", "-W")):
            args.append(w)
    # Headers of libraries are the same on both; what differs comes from HEADERS first.
    return ["clang", "--target=aarch64-linux-gnu", "-fsyntax-only", "-w", "-Werror=implicit-function-declaration",
            "-Werror=int-conversion", "-I" + out] + args + ["-isystem", HEADERS, "-idirafter", "/usr/include",
                                                                 os.path.join(entry["directory"], entry["file"])]


def main():
    if not os.path.isdir(HEADERS):
        print("libc6-dev-arm64-cross is not installed")
        return 77
    with tempfile.TemporaryDirectory() as out:
        n, bad = skeletons(out)
        ok(n > 0 and not bad, "%d eBPF objects for arm64" % n, bad)
        entries = [e for e in json.load(open(os.path.join(BUILD, "compile_commands.json")))
                   if "/src/" in os.path.normpath(os.path.join(e["directory"], e["file"])) and e["file"].endswith(".c")]

        def one(e):
            return e, subprocess.run(command(e, out), cwd=e["directory"], capture_output=True, text=True)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            failed = [(e, r) for e, r in pool.map(one, entries) if r.returncode]
        ok(len(entries) > 50 and not failed, "%d source files for aarch64" % len(entries),
           "\n".join(r.stderr.splitlines()[0] if r.stderr else e["file"] for e, r in failed))
    print("1..%d" % len(checks))
    return 0 if all(checks) else 1


sys.exit(main())
