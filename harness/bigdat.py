#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes a large trace.dat of a small one: its heading, and other events.

usage: bigdat.py SMALL HALTS OUT

SMALL is a file of version 6 with the event kvm_vcpu_wakeup, OUT gets at least
that many halts of four vCPUs on the same CPUs, as the kernel would store them.
"""
import re
import struct
import sys

PAGE = 4096
PIDS = (1000, 1001, 1002, 1003)
EVENT_NS = 160000       # between two events of a CPU: no halt takes as long as two


def event_format(heading):
    """The event's number, and where its fields are."""
    found = re.search(rb"name: kvm_vcpu_wakeup\nID: (\d+)\n(.*?)\nprint fmt", heading, re.S)
    if not found:
        sys.exit("bigdat.py: no event kvm_vcpu_wakeup")
    fields = re.findall(rb"field:[^;]*?(\w+);\toffset:(\d+);", found[2])
    return int(found[1]), {name.decode(): int(offset) for name, offset in fields}


def event(number, fields, pid, halt_ns, waited):
    """One record: how long since the one before, and its data, in words of 4 bytes."""
    data = bytearray(-(-(fields["valid"] + 1) // 4) * 4)
    struct.pack_into("<H", data, fields["common_type"], number)
    struct.pack_into("<i", data, fields["common_pid"], pid)
    struct.pack_into("<Q", data, fields["ns"], halt_ns)
    data[fields["waited"]] = waited
    data[fields["valid"]] = 1
    return struct.pack("<I", len(data) // 4 | EVENT_NS << 5) + data


def page_body(number, fields):
    """What fills a page, the same on each, each vCPU as often: and how many events that is."""
    body, count = b"", 0
    while True:
        one = event(number, fields, PIDS[count % len(PIDS)], 20000 + 977 * count, count & 1)
        if count % len(PIDS) == 0 and len(body) + len(PIDS) * len(one) > PAGE - 16:
            return body, count
        body, count = body + one, count + 1


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as small:
        heading = small.read()
    end = heading.rfind(b"flyrecord\0") + 10
    if end < 10 or heading[10:12] != b"6\0":
        sys.exit(f"bigdat.py: {sys.argv[1]} is no trace.dat of version 6")
    cpus = struct.unpack_from("<I", heading, heading.find(b"options  \0") - 4)[0]
    body, count = page_body(*event_format(heading))
    pages = -(-int(sys.argv[2]) // (count * cpus))
    start = -(-(end + 16 * cpus) // PAGE) * PAGE
    tail = bytes(PAGE - 16 - len(body))

    with open(sys.argv[3], "wb") as big:
        big.write(heading[:end])
        for cpu in range(cpus):
            big.write(struct.pack("<QQ", start + cpu * pages * PAGE, pages * PAGE))
        big.write(bytes(start - big.tell()))
        for cpu in range(cpus):
            for page in range(pages):
                time_ns = 10**9 + cpu * len(PIDS) * EVENT_NS // cpus + page * count * EVENT_NS
                big.write(struct.pack("<QQ", time_ns, len(body)) + body + tail)


main()
