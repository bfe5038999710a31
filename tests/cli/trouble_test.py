"""Disks that are full, folders that are closed, links that lead astray, names that are too long: an error in words, nothing lost.

    trouble_test.py OPSCOPE MAKE_CAPTURES [unittest arguments]
"""

import json
import os
import resource
import stat
import subprocess
import sys
import time
import unittest

from cli_test import OPSCOPE, Program

NOBODY = 65534


class Trouble(Program):
    def setUp(self):
        super().setUp()
        self.capture = str(self.captures / "resnet18.json")

    def limited(self, before, *arguments):
        """A run in a process that `before` has changed."""
        done = subprocess.run([OPSCOPE, *arguments], capture_output=True, text=True, cwd=self.work, env=self.environment, preexec_fn=before, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def left_in(self, folder):
        return sorted(path.name for path in folder.iterdir())

    # --- no room

    def test_a_file_that_may_not_grow_leaves_the_old_one(self):
        folder = self.work / "out"
        folder.mkdir()
        for name in ("report.json", "report.html", "picture.svg"):
            path = folder / name
            path.write_text("what was there before")
            command = ["draw", self.capture, str(path)] if name.endswith("svg") else ["profile", self.capture, "--output", str(path)]
            result = self.limited(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)), *command)
            self.assert_failed(result, "file too large", name, "ulimit -f")
            self.assertEqual(path.read_text(), "what was there before")
        self.assertEqual(self.left_in(folder), ["picture.svg", "report.html", "report.json"])

    def on_small_disk(self, script):
        """A shell script in a mount namespace of its own, with $DISK a disk of 16 KiB."""
        disk = self.work / "disk"
        disk.mkdir()
        mount = 'mount -t tmpfs -o size=16k,mode=0777 opscope "$DISK" || exit 99\n'
        environment = {**self.environment, "DISK": str(disk), "OPSCOPE": OPSCOPE, "CAPTURE": self.capture}
        done = subprocess.run(["unshare", "-rm", "sh", "-c", mount + script], capture_output=True, text=True, cwd=self.work, env=environment, timeout=60)
        if done.returncode == 99 or "unshare" in done.stderr:
            self.skipTest("this machine lets nobody mount a disk")
        return done

    def test_a_full_disk_leaves_the_old_file(self):
        done = self.on_small_disk(
            'echo old > "$DISK/out.json"; "$OPSCOPE" profile "$CAPTURE" --format json --output "$DISK/out.json"; echo code $?; cat "$DISK/out.json"; ls "$DISK"'
        )
        self.assertEqual(done.stdout.split(), ["code", "2", "old", "out.json"], done.stderr)
        self.assertIn("no space left on device", done.stderr)

    def test_a_full_cache_is_none(self):
        done = self.on_small_disk('for i in 1 2; do OPSCOPE_CACHE_DIR="$DISK" "$OPSCOPE" profile vgg11 --verbose --format json; echo " code $?"; ls "$DISK" | wc -l; done')
        self.assertEqual(done.stdout.count("code 0"), 2, done.stderr)
        self.assertEqual(done.stderr.count("continuing without the cache"), 2, done.stderr)
        self.assertEqual(done.stdout.count('"total_flops"'), 2)

    # --- no permission

    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
    def test_a_folder_of_somebody_else(self):
        for path in (self.folder, self.work, self.captures, self.temp):
            path.chmod(0o755)
        self.temp.chmod(0o777)
        become = lambda: os.setuid(NOBODY)  # noqa: E731
        try:
            result = self.limited(become, "profile", self.capture, "--output", str(self.work / "out.json"))
        except PermissionError:
            self.skipTest("the program lies where nobody else may run it")
        self.assert_failed(result, "permission denied", "choose a path that you may write to")
        self.assertFalse((self.work / "out.json").exists())
        (self.work / "secret.json").write_text("{}")
        (self.work / "secret.json").chmod(0o600)
        self.assert_failed(self.limited(become, "profile", str(self.work / "secret.json")), "permission denied")

    # --- links

    @unittest.skipUnless(os.geteuid() == 0, "only root can make a link of somebody else")
    def test_a_planted_link_is_not_followed(self):
        shared, target = self.work / "shared", self.work / "target"
        shared.mkdir()
        shared.chmod(0o1777)
        target.write_text("mine")
        for name, leads_to in (("out.json", target), ("new.json", self.work / "not_there_yet")):
            link = shared / name
            link.symlink_to(leads_to)
            os.lchown(link, NOBODY, NOBODY)
            self.assert_failed(self.run_program("profile", self.capture, "--output", str(link)), "permission denied")
        self.assertEqual(target.read_text(), "mine")
        self.assertFalse((self.work / "not_there_yet").exists())

    def test_links_in_the_temporary_folder_are_not_met(self):
        """Its names are drawn and made for one user: what is planted there under other names stays as it is."""
        target = self.work / "target"
        target.write_text("mine")
        for index in range(20):
            (self.temp / f"opscope-{index:06}").symlink_to(target)
        self.start("profile", "vgg11").communicate()
        self.assertEqual(target.read_text(), "mine")
        self.assertEqual(len(list(self.temp.iterdir())), 20)

    def test_the_temporary_folder_is_for_one_user(self):
        process = self.start("profile", "vgg11", FAKE_MODE="sleep")
        deadline = time.monotonic() + 30
        while not self.log.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        modes = [stat.S_IMODE(path.stat().st_mode) for path in self.temp.iterdir()]
        process.terminate()
        process.communicate(timeout=30)
        self.assertEqual(modes, [0o700])

    def test_no_library_of_the_working_folder_is_loaded(self):
        """Found on the PATH, a program knows itself by its name alone."""
        here, planted = self.work / "a" / "b", self.work / "a" / "lib" / "opscope"
        here.mkdir(parents=True)
        planted.mkdir(parents=True)
        for folder in (here, planted):
            (folder / "opscope_pictures.so").write_text("not a library")
        trace = self.work / "opened"
        environment = {**self.environment, "PATH": f"{os.path.dirname(OPSCOPE)}:{os.environ['PATH']}", "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(trace)}
        subprocess.run(["opscope", "draw", self.capture, "out.svg"], cwd=here, env=environment, timeout=60, capture_output=True)
        opened = "".join(path.read_text() for path in self.work.glob("opened.*"))
        self.assertIn("libc.so", opened)
        self.assertNotIn("../lib/opscope/opscope_pictures.so", opened.replace(os.path.dirname(OPSCOPE), ""))

    # --- long names

    def test_the_longest_name_there_is(self):
        for suffix in (".json", ".svg"):
            path = self.work / ("n" * (255 - len(suffix)) + suffix)
            command = ["draw", self.capture, str(path)] if suffix == ".svg" else ["profile", self.capture, "--output", str(path)]
            code, _, err = self.run_program(*command)
            self.assertEqual(code, 0, err)
            self.assertGreater(path.stat().st_size, 1000)
        self.assertEqual([len(path.name) for path in self.work.iterdir() if path.name.startswith("n")], [255, 255])

    def test_longer_names_are_refused_in_words(self):
        long = "n" * 300
        self.assert_failed(self.run_program("profile", self.capture, "--output", f"{long}.json"), "name too long", "shorter")
        for arguments in (["profile", f"{long}.json"], ["profile", self.capture, "--hardware", f"{long}.toml"], ["check", self.capture, "--budget", f"{long}.toml"],
                          ["diff", f"main:{long}.py", self.capture], ["diff", f"{long}:x.py", self.capture], ["read-trace", f"{long}.json", self.capture]):  # fmt: skip
            result = self.run_program(*arguments)
            self.assert_failed(result)
            self.assertNotIn("a bug in opscope", result[2])

    def test_long_names_inside_a_capture(self):
        capture = json.loads((self.captures / "resnet18.json").read_text())
        for module in capture["modules"][1:]:
            module["name"] *= 400
            above = capture["modules"][module["parent"]]["path"]
            module["path"] = f"{above}.{module['name']}" if above else module["name"]
        path = self.work / "long.json"
        path.write_text(json.dumps(capture))
        for form in ("txt", "md", "html", "csv", "json"):
            code, out, err = self.run_program("profile", str(path), "--format", form)
            self.assertEqual((code, err), (0, ""))
            if form == "txt":
                self.assertLessEqual(max(map(len, out.splitlines())), 100)
        self.assertEqual(self.run_program("draw", str(path), "long.svg")[0], 0)

    # --- what a killed run leaves

    def test_what_killed_runs_left_in_the_cache_goes_in_time(self):
        self.assertEqual(self.run_program("profile", "vgg11")[0], 0)
        cache = self.work / "cache"
        entry = next(cache.glob("*.json"))
        old, young = (cache / f"{entry.name}.{end}" for end in ("AbCdEf", "GhIjKl"))
        for path in (old, young):
            path.write_text("half")
        os.utime(old, (1, 1))
        self.assertEqual(self.run_program("cache", "--clear")[0], 0)
        self.assertEqual([path.name for path in cache.iterdir()], [young.name])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
