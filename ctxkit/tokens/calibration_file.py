"""What a calibration has learned, kept in a small file of numbers that many processes share.

The file holds names of models, counts, sums and dates, and never a text. No process overwrites what another
one has added: each adds what it observed since it last looked.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import date
from math import isfinite
from pathlib import Path
from typing import Any

from ctxkit.errors import BodyError
from ctxkit.tokens.calibration import CALIBRATION, Calibration, Change, Key
from ctxkit.tokens.estimate import NO_SUMS, OWN, Evidence, Posterior
from ctxkit.wire.native import dumps, loads

logger = logging.getLogger("ctxkit.tokens")

FILE_VERSION = 1
SAVE_OBSERVATIONS = 50
SAVE_SECONDS = 30.0
EXIT_WAIT_SECONDS = 5.0
STALE_LOCK_SECONDS = 10.0
LOCK_POLL_SECONDS = 0.01


class UnreadableFileError(Exception):
    """A file that must be left alone; says why, and what to do."""


class CalibrationFile:
    """Keeps one calibration in one file, saved now and then and never at the cost of a call.

    A file that is damaged, or that a newer ctxkit has written, is left alone: a warning says so once, and the
    calibration goes on in memory.

    Args:
        path: The file. Its folder is made where it is missing.
        calibration: What is kept.
        clock: Gives seconds; the file is saved after so many of them, or so many observations.
    """

    def __init__(
        self, path: Path, calibration: Calibration, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.path = path
        self._calibration = calibration
        self._clock = clock
        self._unsaved = 0
        self._saved_at = clock()
        self._warned = False
        self._closed = False

    def observed(self) -> None:
        """Something was learned: save, if it is time to."""
        self._unsaved += 1
        if self._unsaved >= SAVE_OBSERVATIONS or self._clock() - self._saved_at >= SAVE_SECONDS:
            self.save()

    def save(self, *, wait_seconds: float = 0.0) -> None:
        """Add what is new to the file, and learn what others have added.

        Args:
            wait_seconds: How long to wait while another process writes. After that nothing is lost: it is
                tried again later.
        """
        self._unsaved, self._saved_at = 0, self._clock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with _locked(self.path.with_name(f"{self.path.name}.lock"), wait_seconds) as locked:
                if locked and not self._closed:
                    self._calibration.exchange(self._merge)
        except UnreadableFileError as error:
            self._warn(str(error))
        except OSError as error:
            self._warn(f"can't be read or written ({error.strerror}): mend that")

    def close(self) -> None:
        """Save for the last time."""
        atexit.unregister(self.close)
        self.save(wait_seconds=EXIT_WAIT_SECONDS)
        self._closed = True

    def _warn(self, reason: str) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(
                "%s: %s, or give keep_calibration another path; nothing is kept", self.path, reason
            )

    def _merge(self, changes: Mapping[Key, Change]) -> Mapping[Key, Evidence]:
        stored = read(self.path)
        merged = dict(stored)
        for key, change in changes.items():
            merged[key] = stored.get(key, Evidence()).followed_by(change.added, kept=change.kept)
            if not merged[key].weight:
                del merged[key]
        if merged != stored:
            temporary = self.path.with_name(f"{self.path.name}.tmp")
            temporary.write_bytes(_written(merged))
            temporary.replace(self.path)
        return merged


def keep_calibration(
    path: str | Path | None = None, *, calibration: Calibration = CALIBRATION
) -> CalibrationFile:
    """Load what was learned in earlier runs, and keep what is learned from now on.

    Args:
        path: The file; left out, `calibration.json` in the user's cache folder for ctxkit. It holds only
            names of models, numbers and dates.
        calibration: What is kept; left out, that of the whole process.

    Returns:
        The file, which is saved every 50 answers or 30 seconds and when the process ends. A calibration
        that was kept elsewhere is kept here from now on.
    """
    if calibration.keeper:
        calibration.keeper.close()
    kept = CalibrationFile(_default_path() if path is None else Path(path), calibration)
    kept.save(wait_seconds=EXIT_WAIT_SECONDS)
    calibration.keeper = kept
    atexit.register(kept.close)
    if sys.platform != "win32":  # pragma: no branch - there are no forks on Windows
        # A child that inherited what is not saved would add it once more.
        os.register_at_fork(before=kept.save)
    return kept


def read(path: Path) -> dict[Key, Evidence]:
    """What a file holds, by key; nothing where there is none.

    Raises:
        UnreadableFileError: It is damaged, or newer than this version of ctxkit.
    """
    if not path.exists():
        return {}
    try:
        content = loads(path.read_bytes())
        version = content["version"]
        if version == FILE_VERSION:
            return dict(map(_entry, content["models"]))
    except (BodyError, LookupError, TypeError, ValueError):
        raise UnreadableFileError("is no calibration file or is damaged: delete it") from None
    raise UnreadableFileError(f"has version {version}, this ctxkit reads {FILE_VERSION}: update ctxkit")


def _entry(entry: Mapping[str, Any]) -> tuple[Key, Evidence]:
    """One model of a file; raises what `read` expects where anything is not as it was written."""
    evidence = Evidence(
        sums=tuple(map(float, entry["sums"])),
        weight=float(entry["weight"]),
        squares=float(entry["squares"]),
        observations=int(entry["observations"]),
        reopened=bool(entry["reopened"]),
        seen=date.fromisoformat(entry["seen"]),
    )
    numbers = (*evidence.sums, evidence.weight, evidence.squares)
    if len(evidence.sums) != len(NO_SUMS) or min(evidence.weight, evidence.squares) < 0:
        raise ValueError("numbers are missing, or below zero")
    if not all(map(isfinite, numbers)):
        raise ValueError("a number is not finite")
    Posterior(OWN.sds, evidence.sums)
    return Key(str(entry["wire"]), str(entry["model"]), str(entry["counter"])), evidence


def _written(known: Mapping[Key, Evidence]) -> bytes:
    models = [
        {
            **key._asdict(),
            "observations": evidence.observations,
            "reopened": evidence.reopened,
            "seen": str(evidence.seen),
            "weight": evidence.weight,
            "squares": evidence.squares,
            "sums": evidence.sums,
        }
        for key, evidence in sorted(known.items())
    ]
    return dumps({"version": FILE_VERSION, "models": models})


def _default_path() -> Path:
    from platformdirs import user_cache_path  # not at the top: few need it

    return user_cache_path("ctxkit", appauthor=False) / "calibration.json"


@contextmanager
def _locked(path: Path, wait_seconds: float) -> Iterator[bool]:
    """Hold a lock file, and tell whether it is held."""
    until = time.monotonic() + wait_seconds
    while not _created(path):
        if time.monotonic() >= until:
            yield False
            return
        time.sleep(LOCK_POLL_SECONDS)
    try:
        yield True
    finally:
        path.unlink(missing_ok=True)


def _created(path: Path) -> bool:
    """Whether a lock file was made; one that a dead process left is taken away for the next try."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        with suppress(FileNotFoundError):  # its holder may take it away at any time
            if time.time() - path.stat().st_mtime > STALE_LOCK_SECONDS:
                path.unlink()
        return False
    return True
