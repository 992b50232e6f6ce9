"""Made-up addresses: the same for the same, of the same family, and without a trace of the true ones."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.read import anonymize
from vmtrace.analyze.read.anonymize import Anonymizer


@given(st.lists(st.ip_addresses(), min_size=1))
def test_an_address_keeps_its_family_and_its_stand_in(addresses: list[object]) -> None:
    anonymizer = Anonymizer()
    first = [anonymizer.address(str(address)) for address in addresses]
    assert [anonymizer.address(str(address)) for address in addresses] == first
    assert len(set(first)) == len({str(address) for address in addresses})
    for address, stand_in in zip(addresses, first, strict=True):
        assert ip_address(stand_in).version == ip_address(str(address)).version


def test_stand_ins_come_from_ranges_that_nobody_has() -> None:
    anonymizer = Anonymizer()
    assert ip_address(anonymizer.address("52.95.110.1")) in ip_network("198.18.0.0/15")
    assert ip_address(anonymizer.address("2600:1f18::1")) in ip_network("2001:db8::/32")


def test_ports_stay() -> None:
    anonymizer = Anonymizer()
    assert anonymizer.endpoint("52.95.110.1:443") == "198.18.0.1:443"
    assert anonymizer.endpoint("[2600:1f18::1]:443") == "[2001:db8::1]:443"


def test_a_host_is_the_same_with_and_without_a_port() -> None:
    anonymizer = Anonymizer()
    for address in ("52.95.110.1", "2600:1f18::1"):
        whole = f"[{address}]:443" if ":" in address else f"{address}:443"
        assert anonymizer.value("server", whole) in {
            f"{anonymizer.address(address)}:443",
            f"[{anonymizer.address(address)}]:443",
        }


def test_beyond_the_range_for_ipv4_stand_ins_are_of_the_other_family(monkeypatch: pytest.MonkeyPatch) -> None:
    network = ip_network("198.18.0.0/15")
    assert network.num_addresses == anonymize._IPV4_COUNT
    monkeypatch.setattr(anonymize, "_IPV4_COUNT", 4)
    anonymizer = Anonymizer()
    stand_ins = [anonymizer.address(f"192.0.2.{number}") for number in range(5)]
    assert [ip_address(stand_in).version for stand_in in stand_ins] == [4, 4, 4, 6, 6]
    assert len(set(stand_ins)) == 5


def test_a_connection_loses_its_addresses_and_its_server_name() -> None:
    record = {"id": 1, "client": "52.95.110.1:5", "server": "52.95.110.2:443", "tls": {"sni": "secret.example"}}
    changed = Anonymizer().connection(record)
    assert changed == {
        "id": 1,
        "client": "198.18.0.1:5",
        "server": "198.18.0.2:443",
        "tls": {"sni": "name-1.invalid"},
    }
    assert record["client"] == "52.95.110.1:5", "the original is left as it was"


def test_packets_around_a_tunnel_lose_their_addresses() -> None:
    around = [{"kind": "gre", "outer": ["52.95.110.1", "52.95.110.9"], "id": None}]
    flow = {"client": "10.0.0.1:5", "server": "10.0.0.2:9", "icmp_errors": [], "quic": None, "tunnel": around}
    changed = Anonymizer().beyond_tcp({"flows": [flow, {**flow, "tunnel": around}], "tunnels": around})
    shown = [changed["flows"][0]["tunnel"], changed["flows"][1]["tunnel"], changed["tunnels"]]
    assert shown == [[{"kind": "gre", "outer": ["198.18.0.3", "198.18.0.4"], "id": None}]] * 3


def test_only_telling_columns_of_a_row_are_changed() -> None:
    row = {"client": "1.2.3.4:5", "tls_sni": None, "close": "fin", "duration_s": 1.5}
    assert Anonymizer().row(row) == {"client": "198.18.0.1:5", "tls_sni": None, "close": "fin", "duration_s": 1.5}


def test_a_path_loses_its_folders() -> None:
    assert Anonymizer().path("/data/customer/x.pcap") == "x.pcap"


def test_the_names_in_a_certificate_are_replaced_and_the_same_name_stays_the_same() -> None:
    anonymizer = Anonymizer()
    tls = {"sni": "secret.example", "certificate_names": ["secret.example", "*.secret.example"]}
    record = {"client": "192.0.2.1:5", "server": "192.0.2.2:443", "tls": tls}
    changed = anonymizer.connection(record)["tls"]
    assert changed == {"sni": "name-1.invalid", "certificate_names": ["name-1.invalid", "name-2.invalid"]}
    value = anonymizer.value("tls_certificate_names", "*.secret.example, secret.example")
    assert value == "name-2.invalid, name-1.invalid"
