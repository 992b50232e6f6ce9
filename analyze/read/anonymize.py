"""Addresses and host names replaced by made-up ones, the same one each time: for results that are to be shown around.

IPv4 addresses become 198.18.0.0/15 (RFC 2544), IPv6 addresses 2001:db8::/32 (RFC 3849), server names
`name-N.invalid` (RFC 2606), numbered as they come; folders are cut off file names. Ports, times and sizes stay. Nothing
can be turned back: the numbers have no relation to what they stand for (a keyed hash of an IPv4 address could be found
by trying all).
"""

from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import PurePath
from typing import TYPE_CHECKING

from vmtrace.analyze.words.document import Record

if TYPE_CHECKING:
    import pyarrow

    from vmtrace.analyze._engine import Columns

_IPV4_BASE = int(IPv4Address("198.18.0.0"))
_IPV4_COUNT = 1 << 17
_IPV6_BASE = int(IPv6Address("2001:db8::"))


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


class Anonymizer:
    """Remembers which made-up name stands for what."""

    COLUMNS = (
        "client",
        "server",
        "client_address",
        "server_address",
        "server_name",
        "tls_sni",
        "tls_certificate_names",
    )
    """The columns of the connection table that tell who it was."""

    def __init__(self) -> None:
        self._addresses: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._ipv4 = 0
        self._ipv6 = 0

    def address(self, text: str) -> str:
        """The stand-in for an IP address."""
        known = self._addresses.get(text)
        if known is None:
            known = self._addresses[text] = self._new_address(text)
        return known

    def endpoint(self, text: str) -> str:
        """The stand-in for `address:port` (`[address]:port` for IPv6)."""
        if _is_address(text):
            return self.address(text)
        address, colon, port = text.rpartition(":")
        if not colon:
            return self.address(text)
        if address.startswith("[") and address.endswith("]"):
            return f"[{self.address(address[1:-1])}]:{port}"
        return f"{self.address(address)}:{port}"

    def server_name(self, text: str) -> str:
        """The stand-in for a host name."""
        return self._names.setdefault(text, f"name-{len(self._names) + 1}.invalid")

    def path(self, text: str) -> str:
        """A file's name without its folders."""
        return PurePath(text).name

    def connection(self, record: Record) -> Record:
        """A connection of the JSON document, anonymised."""
        changed = {**record, "client": self.endpoint(record["client"]), "server": self.endpoint(record["server"])}
        if record.get("server_name"):
            changed["server_name"] = self.server_name(record["server_name"])
        tls = record.get("tls") or {}
        if tls.get("sni"):
            changed["tls"] = {**tls, "sni": self.server_name(tls["sni"])}
        if tls.get("certificate_names"):
            names = [self.server_name(name) for name in tls["certificate_names"]]
            changed["tls"] = {**changed["tls"], "certificate_names": names}
        if record.get("icmp_errors"):
            changed["icmp_errors"] = [{**one, "from": self.address(one["from"])} for one in record["icmp_errors"]]
        if record.get("icmp_errors_related"):
            changed["icmp_errors_related"] = [
                {**one, "from": self.address(one["from"]), "quotes": " - ".join(map(self.endpoint, ends))}
                for one in record["icmp_errors_related"]
                for ends in (one["quotes"].split(" - "),)
            ]
        if record.get("tunnel"):
            changed["tunnel"] = self.tunnels(record["tunnel"])
        return changed

    def tunnels(self, tunnels: list[Record]) -> list[Record]:
        """Tunnels of a connection, of a flow or of the document, anonymised."""
        return [{**one, "outer": list(map(self.address, one["outer"]))} for one in tunnels]

    def outcomes(self, groups: list[Record]) -> list[Record]:
        """`outcomes` of the JSON document, anonymised."""

        def servers(group: Record) -> list[Record]:
            return [{**one, "server": self.endpoint(one["server"])} for one in group["servers"]]

        return [{**group, "servers": servers(group)} for group in groups]

    def beyond_tcp(self, content: Record) -> Record:
        """Flows, names and neighbours of the JSON document, anonymised."""

        def addresses(record: Record, *names: str) -> Record:
            return record | {name: self.endpoint(record[name]) for name in names}

        lookups = [
            addresses(one, "client", "resolver")
            | {"name": self.server_name(one["name"]), "answers": list(map(self.address, one["answers"]))}
            | {"searched": list(map(self.server_name, one["searched"]))}
            for one in content.get("lookups", ())
        ]
        flows = [
            addresses(one, "client", "server")
            | {"icmp_errors": [addresses(error, "from") for error in one["icmp_errors"]]}
            | ({"tunnel": self.tunnels(one["tunnel"])} if "tunnel" in one else {})
            for one in content.get("flows", ())
        ]
        for one in flows:
            if one["quic"] and one["quic"].get("sni"):
                one["quic"] |= {"sni": self.server_name(one["quic"]["sni"])}
        changed: Record = {
            "neighbours": [addresses(one, "address", "asked_by") for one in content.get("neighbours", ())],
            "tunnels": self.tunnels(content.get("tunnels", [])),
        }
        totals = content.get("lookup_totals")
        if totals:
            limits = [addresses(one, "client", "resolver") for one in totals["rate_limits"]]
            changed["lookup_totals"] = totals | {"rate_limits": limits}
        there = changed | {"lookups": lookups, "flows": flows}
        return {key: value for key, value in there.items() if key in content}

    def run(self, record: Record) -> Record:
        """A run of the JSON document, anonymised."""
        return {**record, "path": self.path(record["path"])}

    def row(self, row: Record) -> Record:
        """A row of the connection table, anonymised."""
        return {name: self.value(name, value) for name, value in row.items()}

    def table(self, columns: "Columns") -> "pyarrow.Table":
        """Rows of the connection table, anonymised."""
        import pyarrow

        table = pyarrow.table(columns)
        for index, name in enumerate(table.column_names):
            if name in self.COLUMNS:
                values = [self.value(name, value) for value in table[name].to_pylist()]
                table = table.set_column(index, name, pyarrow.array(values, pyarrow.string()))
        return table

    def value(self, column: str, value: object) -> object:
        """A value of the connection table's `column`, anonymised if it tells who it was."""
        if not isinstance(value, str):
            return value
        if column in ("client", "server"):
            return self.endpoint(value)
        if column in ("client_address", "server_address"):
            return self.address(value)
        if column == "tls_certificate_names":
            return ", ".join(self.server_name(name) for name in value.split(", "))
        return self.server_name(value) if column in ("server_name", "tls_sni") else value

    def _new_address(self, text: str) -> str:
        try:
            version = ip_address(text.partition("%")[0]).version
        except ValueError:
            return self.server_name(text)
        if version == 4 and self._ipv4 < _IPV4_COUNT - 1:
            self._ipv4 += 1
            return str(IPv4Address(_IPV4_BASE + self._ipv4))
        self._ipv6 += 1
        return str(IPv6Address(_IPV6_BASE + self._ipv6))
