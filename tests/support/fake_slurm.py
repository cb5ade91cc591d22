"""The commands of Slurm that submitit and the study call, for one machine without a queue."""

import os
import signal
from contextlib import suppress
from pathlib import Path

COMMANDS = {
    # A job gets a session of its own, whose first process is the batch script.
    "sbatch": """
id=$(( $(ls "$JOBS" | wc -l) + 1 ))
mkdir "$JOBS/$id"
cp "$1" "$JOBS/$id/script"
SLURM_JOB_ID=$id setsid bash "$1" < /dev/null > "$JOBS/$id/log" 2>&1 &
echo $! > "$JOBS/$id/pid"
echo "Submitted batch job $id"
""",
    # srun --unbuffered --output FILE --error FILE COMMAND...
    "srun": """
out=${3//%j/$SLURM_JOB_ID} err=${5//%j/$SLURM_JOB_ID}
shift 5
exec "$@" >> "${out//%t/0}" 2>> "${err//%t/0}"
""",
    "squeue": """
for job in "$JOBS"/*; do kill -0 "$(cat "$job/pid")" 2> /dev/null && basename "$job"; done
true
""",
    # As Slurm does, to what the script has started, not to the script.
    "scancel": """
pkill -TERM -P "$(cat "$JOBS/$1/pid")"
""",
}


class FakeSlurm:
    """Slurm on this machine; `path` is the $PATH on which its commands are."""

    def __init__(self, folder: Path) -> None:
        self._jobs = folder / "jobs"
        self._jobs.mkdir(parents=True)
        programs = folder / "bin"
        programs.mkdir()
        for name, script in COMMANDS.items():
            text = f"#!/bin/bash\nJOBS='{self._jobs}'\n{script.strip()}\n"
            (programs / name).write_text(text, encoding="utf-8")
            (programs / name).chmod(0o755)
        self.path = f"{programs}{os.pathsep}{os.environ['PATH']}"

    @property
    def scripts(self) -> list[str]:
        """The batch scripts of all jobs, in the order in which they were submitted."""
        folders = sorted(self._jobs.iterdir(), key=lambda folder: int(folder.name))
        return [(folder / "script").read_text(encoding="utf-8") for folder in folders]

    def kill(self, number: int) -> None:
        """Kills a job with all its processes, as a machine that loses its power does."""
        with suppress(ProcessLookupError):
            os.killpg(int((self._jobs / f"{number}" / "pid").read_text()), signal.SIGKILL)

    def close(self) -> None:
        for number in range(1, len(self.scripts) + 1):
            self.kill(number)
