"""Memory of a Windows machine, asked of the system itself."""

import ctypes
from typing import Any


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of the Windows API."""

    _fields_ = (
        ("dwLength", ctypes.c_uint32),
        ("dwMemoryLoad", ctypes.c_uint32),
        ("ullTotalPhys", ctypes.c_uint64),
        ("ullAvailPhys", ctypes.c_uint64),
        ("ullTotalPageFile", ctypes.c_uint64),
        ("ullAvailPageFile", ctypes.c_uint64),
        ("ullTotalVirtual", ctypes.c_uint64),
        ("ullAvailVirtual", ctypes.c_uint64),
        ("ullAvailExtendedVirtual", ctypes.c_uint64),
    )


def windows_memory(kernel: Any = None) -> tuple[int | None, int | None]:
    """Give the bytes in all and free; None where this is no Windows, or it does not say."""
    libraries = getattr(ctypes, "windll", None)
    if kernel is None and libraries is not None:
        kernel = libraries.kernel32
    if kernel is None:
        return None, None
    status = _MemoryStatus(dwLength=ctypes.sizeof(_MemoryStatus))
    try:
        if not kernel.GlobalMemoryStatusEx(ctypes.byref(status)):
            return None, None
    except (OSError, AttributeError):
        return None, None
    return status.ullTotalPhys or None, status.ullAvailPhys
