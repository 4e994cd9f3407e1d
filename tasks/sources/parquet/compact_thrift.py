"""Thrift's compact protocol, in which Parquet writes its footer and the headers of its pages.

A structure is a dict: number of the field -> (kind, value). A list is (kind of its elements, values). What is
not understood is kept as it is, so a structure that is read and written again says the same.
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from typing import Any

Struct = dict[int, tuple[int, Any]]

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, _, STRUCT = range(1, 13)
_DEEPEST = 32


def read_struct(data: bytes, start: int = 0) -> tuple[Struct, int]:
    """(the structure that begins at a place, where it ends).

    Raises ValueError for what is no structure, IndexError where the bytes end before it does.
    """
    reader = _Reader(data, start)
    return reader.struct(0), reader.place


def thrift_bytes(struct: Struct) -> bytes:
    """The bytes of a structure."""
    out = bytearray()
    _write_struct(out, struct)
    return bytes(out)


class _Reader:
    def __init__(self, data: bytes, place: int) -> None:
        self.data, self.place = data, place

    def byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")

    def signed(self) -> int:
        value = self.unsigned()
        return value >> 1 ^ -(value & 1)

    def raw(self, length: int) -> bytes:
        self.place += length
        if self.place > len(self.data):
            raise IndexError("the bytes end within a value")
        return self.data[self.place - length : self.place]

    def struct(self, depth: int) -> Struct:
        fields: Struct = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.signed()
            kind = head & 15
            fields[number] = kind, kind == TRUE if kind in (TRUE, FALSE) else self.value(kind, depth)
        return fields

    def value(self, kind: int, depth: int) -> Any:
        if kind in (I16, I32, I64):
            return self.signed()
        if kind == BINARY:
            return self.raw(self.unsigned())
        if kind in (LIST, SET) and depth < _DEEPEST:
            head = self.byte()
            size = head >> 4 if head >> 4 < 15 else self.unsigned()
            return head & 15, [self.value(head & 15, depth + 1) for _ in range(size)]
        if kind == STRUCT and depth < _DEEPEST:
            return self.struct(depth + 1)
        if kind in (TRUE, FALSE, BYTE):       # a byte each, inside lists
            return self.byte()
        if kind == DOUBLE:
            return self.raw(8)
        raise ValueError(f"a value of kind {kind} at byte {self.place}, or one too deep inside others")


def _write_struct(out: bytearray, struct: Struct) -> None:
    last = 0
    for number, (kind, value) in sorted(struct.items()):
        if 0 < number - last < 16:
            out.append((number - last) << 4 | kind)
        else:
            out.append(kind)
            _write_signed(out, number)
        last = number
        if kind not in (TRUE, FALSE):
            _write(out, kind, value)
    out.append(0)


def _write(out: bytearray, kind: int, value: Any) -> None:
    if kind in (I16, I32, I64):
        _write_signed(out, value)
    elif kind == BINARY:
        _write_unsigned(out, len(value))
        out += value
    elif kind in (LIST, SET):
        inner, values = value
        out.append(min(len(values), 15) << 4 | inner)
        if len(values) >= 15:
            _write_unsigned(out, len(values))
        for one in values:
            _write(out, inner, one)
    elif kind == STRUCT:
        _write_struct(out, value)
    elif kind == DOUBLE:
        out += value
    else:
        out.append(value)


def _write_signed(out: bytearray, value: int) -> None:
    _write_unsigned(out, value << 1 ^ value >> 63)


def _write_unsigned(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
