"""Restrictions that a process applies to itself before it executes the command: capabilities, files, socket families.

They are plain system calls through ctypes. A refusal of the kernel is raised as OSError, so that no command starts less
confined than requested. `leave_keyring` and `restrict_calls` describe the exceptions.
"""
# pathlib would double the time this program takes to start
# ruff: noqa: PTH114, PTH123, PTH208

import ctypes
import os
import stat

PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, *arguments: int) -> None:
    _check(_libc.prctl(option, *(ctypes.c_ulong(a) for a in (*arguments, 0, 0, 0, 0)[:4])))


def _syscall(number: int, *arguments: object) -> int:
    return _check(_libc.syscall(ctypes.c_long(number), *arguments))


def _check(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


# --- capabilities ---------------------------------------------------------------------------------------------

_KEPT_CAPABILITIES = sum(1 << number for number in (0, 1, 3, 4))
"""CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID: root needs them to work on files of other users."""
_SYS_CAPSET = {"x86_64": 126, "aarch64": 91}


def drop_capabilities() -> None:
    """As root, keep only the capabilities for file access, which Landlock restricts; drop the rest permanently."""
    if os.geteuid() != 0:
        return
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as file:
        last = int(file.read())
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    for number in range(last + 1):
        if not _KEPT_CAPABILITIES >> number & 1:
            prctl(PR_CAPBSET_DROP, number)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)(_KEPT_CAPABILITIES, _KEPT_CAPABILITIES, 0, 0, 0, 0)
    _syscall(_SYS_CAPSET[os.uname().machine], header, data)


# --- keys -----------------------------------------------------------------------------------------------------

_SYS_KEYCTL = {"x86_64": 250, "aarch64": 219}
_KEYCTL_JOIN_SESSION_KEYRING = 1
_NO_KEYS = (1, 38, 122)
"""EPERM, ENOSYS, EDQUOT: a container or a kernel without keys, or the quota of keyrings is used up."""


def leave_keyring() -> None:
    """Replace the session keyring, which holds the user's keys and tokens, by a new one.

    The refusals in `_NO_KEYS` are ignored: `restrict_calls` blocks the whole key store anyway, where it works.
    """
    try:
        _syscall(_SYS_KEYCTL[os.uname().machine], ctypes.c_int(_KEYCTL_JOIN_SESSION_KEYRING), None)
    except KeyError:
        return
    except OSError as error:
        if error.errno not in _NO_KEYS:
            raise


# --- Landlock -------------------------------------------------------------------------------------------------

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_MAKE_DEVICE = 1 << 6 | 1 << 11
_ALL_ACCESS = (1 << 15) - 1
_FILE_ACCESS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1 << 0, 1 << 1
_WRITABLE_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")

OLDEST_ABI = 3
"""Older versions do not cover truncation: any file could be emptied."""


def landlock_abi() -> int:
    """Return the version of Landlock in this kernel, 0 if it has none."""
    try:
        return _syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    except OSError:
        return 0


def landlock(write: list[str], hide: list[str]) -> None:
    """Allow reading everything except the paths in `hide`, and writing only below the paths in `write`."""
    abi = landlock_abi()
    if abi < OLDEST_ABI:
        raise OSError(38, "this kernel's Landlock is missing or too old")
    scoped = _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS if abi >= 6 else 0
    attributes = (ctypes.c_uint64 * 3)(_ALL_ACCESS, 0, scoped)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    rules = _syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0))
    _allow(rules, "/", _READ_DIR)
    _allow_reading(rules, "/", frozenset(hide))
    for path in write:
        _allow(rules, path, _ALL_ACCESS & ~_MAKE_DEVICE)
    for name in _WRITABLE_DEVICES:
        _allow(rules, f"/dev/{name}", _READ_DIR | _READ_FILE | _WRITE_FILE | _TRUNCATE)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    _syscall(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0))
    os.close(rules)


def leave_abstract_sockets() -> None:
    """Forbid connections to abstract sockets of processes outside the sandbox, if the kernel can (Linux 6.12)."""
    if landlock_abi() < 6:
        return
    attributes = (ctypes.c_uint64 * 3)(0, 0, _SCOPE_ABSTRACT_SOCKETS)
    rules = _syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(24), ctypes.c_uint32(0))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    _syscall(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0))
    os.close(rules)


def _allow_reading(rules: int, folder: str, hide: frozenset[str]) -> None:
    """Allow reading everything below `folder` except `hide`. Rules can only allow, so siblings are added one by one."""
    if not hide:
        _allow(rules, folder, _READ_FILE | _EXECUTE)
        return
    prefix = folder.rstrip("/") + "/"
    for name in os.listdir(folder):
        path = prefix + name
        if path in hide:
            continue
        below = frozenset(h for h in hide if h.startswith(path + "/"))
        if below and not os.path.islink(path):
            _allow_reading(rules, path, below)
        else:
            _allow(rules, path, _READ_FILE | _EXECUTE)


def _allow(rules: int, path: str, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return  # gone or inaccessible: needs no permission
    mode = os.fstat(fd).st_mode
    if not stat.S_ISDIR(mode):
        access &= _FILE_ACCESS
    # Access to a symlink is checked at its target.
    if access and not stat.S_ISLNK(mode):
        packed = access.to_bytes(8, "little") + fd.to_bytes(4, "little")
        _syscall(_ADD_RULE, ctypes.c_int(rules), ctypes.c_int(1), packed, ctypes.c_uint32(0))
    os.close(fd)


# --- seccomp --------------------------------------------------------------------------------------------------

_ARCHITECTURES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""machine: (AUDIT_ARCH_*, number of the socket call)"""
_KEY_CALLS = {"x86_64": (248, 249, 250), "aarch64": (217, 218, 219)}
"""machine: numbers of add_key, request_key and keyctl"""
_SYS_IO_URING_SETUP = 425
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def can_filter_sockets() -> bool:
    return os.uname().machine in _ARCHITECTURES


def restrict_calls(families: list[int]) -> None:
    """Forbid sockets of all other families and the kernel's key store; socketpair() stays allowed.

    io_uring and the 32-bit system calls are forbidden too: both can create sockets without the filtered call. Does
    nothing on other machines than x86_64 and aarch64.
    """
    if not can_filter_sockets():
        return
    machine = os.uname().machine
    architecture, socket_call = _ARCHITECTURES[machine]
    instructions = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 0, 1, 0x40000000),
        (_RETURN, 0, 0, _FAIL | _ENOSYS),
        (_EQUAL, 0, 1, _SYS_IO_URING_SETUP),
        (_RETURN, 0, 0, _FAIL | _ENOSYS),
    ]
    for key_call in _KEY_CALLS[machine]:
        instructions += [(_EQUAL, 0, 1, key_call), (_RETURN, 0, 0, _FAIL | _EPERM)]
    instructions += [(_EQUAL, 1, 0, socket_call), (_RETURN, 0, 0, _ALLOW), (_LOAD, 0, 0, 16)]
    for family in families:
        instructions += [(_EQUAL, 0, 1, family), (_RETURN, 0, 0, _ALLOW)]
    instructions.append((_RETURN, 0, 0, _FAIL | _EPERM))
    program_bytes = b"".join(
        code.to_bytes(2, "little") + bytes((if_true, if_false)) + value.to_bytes(4, "little")
        for code, if_true, if_false, value in instructions
    )
    program = _Program(len(instructions), program_bytes)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    _check(_libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(2), ctypes.byref(program), ctypes.c_ulong(0), ctypes.c_ulong(0)))
