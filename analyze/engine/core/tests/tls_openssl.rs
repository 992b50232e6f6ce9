//! Real handshakes of `openssl s_server` and `s_client` through a relay that records both streams; the truth about the
//! encrypted records comes from tshark with the session's keys.
//!
//! Subjects: `tls/phase.rs`, `tls/conclusion.rs`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::support;
use crate::support::Segment;
use vmtrace_core::tls::{EarlyData, StreamBytes, StreamDirection, TlsFacts};

/// A folder with a key and a certificate that goes with the test.
struct Workplace(PathBuf);

impl Workplace {
    fn new(name: &str) -> Option<Self> {
        let folder = std::env::temp_dir().join(format!("vmtrace-tls-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let workplace = Self(folder);
        let args = "req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=test.example";
        let made = Command::new("openssl").args(args.split(' ')).current_dir(&workplace.0).output();
        let tshark = Command::new("tshark").arg("--version").output();
        if !made.is_ok_and(|made| made.status.success()) || tshark.is_err() {
            println!("skipped: openssl and tshark are needed");
            return None;
        }
        Some(workplace)
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(workplace: &Workplace, options: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new("openssl")
            .args(["s_server", "-accept", &format!("127.0.0.1:{port}"), "-key", "key.pem", "-cert", "cert.pem"])
            .args(options.split_whitespace())
            .current_dir(&workplace.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, port }
    }

    fn connect(&self) -> TcpStream {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match TcpStream::connect(("127.0.0.1", self.port)) {
                Ok(stream) => return stream,
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// One session: the client says `lines`, each after a pause, then closes.
    fn session(&self, workplace: &Workplace, options: &str, lines: &[&str]) -> Session {
        let relay = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = relay.local_addr().unwrap().port();
        let mut client = Command::new("openssl")
            .args([
                "s_client",
                "-connect",
                &format!("127.0.0.1:{port}"),
                "-keylogfile",
                "keys.log",
                "-servername",
                "test.example",
            ])
            .args(options.split_whitespace())
            .current_dir(&workplace.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let near = relay.accept().unwrap().0;
        let far = self.connect();
        let (sender, receiver) = channel();
        let up =
            pump(near.try_clone().unwrap(), far.try_clone().unwrap(), StreamDirection::ClientToServer, sender.clone());
        let down = pump(far, near, StreamDirection::ServerToClient, sender);
        let mut stdin = client.stdin.take().unwrap();
        for line in lines {
            thread::sleep(Duration::from_millis(250));
            let _ = stdin.write_all(line.as_bytes());
        }
        thread::sleep(Duration::from_millis(250));
        drop(stdin);
        client.wait().unwrap();
        up.join().unwrap();
        down.join().unwrap();
        let segments: Vec<Segment> = receiver.iter().collect();
        Session { decrypted: decrypt(workplace, &segments), segments }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pump(
    mut from: TcpStream,
    mut to: TcpStream,
    direction: StreamDirection,
    sender: Sender<Segment>,
) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut buffer = vec![0; 32 << 10];
        let mut offset = 0;
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let captured = buffer[..count].to_vec();
            let time_ns = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64;
            let segment = Segment { direction, offset, captured, length: count as u32, time_ns, retransmitted: false };
            sender.send(segment).unwrap();
            offset += count as u64;
            if to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Write);
    })
}

/// Per direction: bytes of handshake records, with headers and ChangeCipherSpec, as their content type says that is
/// inside the encryption.
type Decrypted = [u64; 2];

struct Session {
    segments: Vec<Segment>,
    decrypted: Decrypted,
}

impl Session {
    fn read(&self) -> (TlsFacts, [StreamBytes; 2]) {
        let (facts, bytes) = support::read(&self.segments);
        support::assert_bytes_sum(&self.segments, bytes);
        (facts.unwrap(), bytes)
    }

    /// Facts, which must agree with the decrypted records and with the application data that was said, bytes per direction.
    fn checked(&self, [client_data, server_data]: [u64; 2]) -> TlsFacts {
        let (facts, bytes) = self.read();
        let [client_handshake, server_handshake] = self.decrypted;
        let ours = (facts.client_handshake_bytes, facts.server_handshake_bytes);
        assert_eq!(ours, (Some(client_handshake), Some(server_handshake)), "{facts:#?}");
        assert_eq!(bytes.map(|parts| parts.tls_handshake), [client_handshake, server_handshake]);
        if facts.padding_unknown {
            let slack = 16 * facts.records.unwrap();
            let ours = facts.application_bytes.unwrap();
            assert!((client_data + server_data..client_data + server_data + slack).contains(&ours), "{facts:#?}");
        } else {
            assert_eq!(facts.application_bytes, Some(client_data + server_data), "{facts:#?}");
            assert_eq!(bytes.map(|parts| parts.application), [client_data, server_data]);
        }
        let total: u64 = self.segments.iter().map(|s| u64::from(s.length)).sum();
        let parts = [
            facts.client_handshake_bytes,
            facts.server_handshake_bytes,
            facts.record_overhead_bytes,
            facts.application_bytes,
        ];
        assert_eq!(parts.into_iter().map(Option::unwrap).sum::<u64>(), total, "every byte is in one part");
        facts
    }
}

fn decrypt(workplace: &Workplace, segments: &[Segment]) -> Decrypted {
    let path = workplace.0.join("session.pcap");
    write_pcap(&path, segments);
    let keys = format!("tls.keylog_file:{}", workplace.0.join("keys.log").display());
    let dissector = ["-o", keys.as_str(), "-d", "tcp.port==443,tls"];
    let fields = ["tcp.srcport", "tls.record.content_type", "tls.record.length"];
    let mut sums = [0; 2];
    for row in support::tshark(&path, &dissector, "tls", &fields) {
        let [port, types, lengths] = row.as_slice() else { panic!("{row:?}") };
        let types: Vec<&str> = types.split(',').collect();
        let lengths: Vec<u64> = lengths.split(',').map(|length| length.parse().unwrap()).collect();
        assert_eq!(types.len(), lengths.len(), "{row:?}");
        for (kind, length) in types.iter().zip(&lengths) {
            if matches!(*kind, "20" | "22") {
                sums[usize::from(port == "443")] += 5 + length;
            }
        }
    }
    sums
}

fn write_pcap(path: &Path, segments: &[Segment]) {
    let mut out = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 262_144, 101] {
        out.extend(word.to_le_bytes());
    }
    let mut next = [1_u32; 2];
    for segment in segments {
        let from = usize::from(segment.direction == StreamDirection::ServerToClient);
        let ports: [u16; 2] = [50_000, 443];
        let length = (40 + segment.captured.len()) as u16;
        let mut packet = vec![0x45, 0];
        packet.extend(length.to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1 + from as u8, 10, 0, 0, 2 - from as u8]);
        packet.extend(ports[from].to_be_bytes());
        packet.extend(ports[1 - from].to_be_bytes());
        packet.extend(next[from].to_be_bytes());
        packet.extend(next[1 - from].to_be_bytes());
        packet.extend([0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
        packet.extend(&segment.captured);
        next[from] += segment.captured.len() as u32;
        let (seconds, nanoseconds) = (segment.time_ns / 1_000_000_000, segment.time_ns % 1_000_000_000);
        for word in [seconds as u32, nanoseconds as u32, packet.len() as u32, packet.len() as u32] {
            out.extend(word.to_le_bytes());
        }
        out.extend(packet);
    }
    std::fs::write(path, out).unwrap();
}

const LINES: [&str; 2] = ["what the client says first\n", "and then\n"];

/// Bytes of all lines.
const LINES_BYTES: u64 = (LINES[0].len() + LINES[1].len()) as u64;
/// A server that gives every line back in reverse.
const ECHOED: [u64; 2] = [LINES_BYTES; 2];
const EARLY: &str = "sent before the handshake ends";

#[test]
fn tls13_full_and_resumed() {
    let Some(workplace) = Workplace::new("13") else {
        return;
    };
    let server = Server::start(&workplace, "-rev -tls1_3");
    let full = server.session(&workplace, "-tls1_3 -alpn h2,http/1.1 -sess_out ticket.pem", &LINES).checked(ECHOED);
    assert_eq!(full.version.as_deref(), Some("1.3"));
    assert_eq!(full.sni.as_deref(), Some("test.example"));
    assert_eq!(full.alpn_offered, ["h2", "http/1.1"]);
    assert_eq!((full.resumed, full.handshake_round_trips, full.hello_retry), (Some(false), Some(1), false));
    assert!(full.handshake_s.is_some_and(|seconds| seconds > 0.0 && seconds < 5.0));
    let resumed = server.session(&workplace, "-tls1_3 -sess_in ticket.pem", &LINES).checked(ECHOED);
    assert_eq!((resumed.resumed, resumed.handshake_round_trips), (Some(true), Some(1)));
    let sha256 =
        server.session(&workplace, "-tls1_3 -ciphersuites TLS_CHACHA20_POLY1305_SHA256", &LINES).checked(ECHOED);
    assert_eq!(sha256.cipher.as_deref(), Some("TLS_CHACHA20_POLY1305_SHA256"));
}

#[test]
fn tls13_hello_retry_and_client_certificate() {
    let Some(workplace) = Workplace::new("13-retry") else {
        return;
    };
    let server = Server::start(&workplace, "-rev -tls1_3 -groups P-384 -Verify 1");
    let options = "-tls1_3 -groups X25519:P-384 -key key.pem -cert cert.pem";
    let facts = server.session(&workplace, options, &LINES).checked(ECHOED);
    assert!(facts.hello_retry);
    assert_eq!(facts.handshake_round_trips, Some(2));
}

#[test]
fn tls13_early_data() {
    let Some(workplace) = Workplace::new("13-early") else {
        return;
    };
    std::fs::write(workplace.0.join("early"), EARLY).unwrap();
    let server = Server::start(&workplace, "-tls1_3 -early_data");
    server.session(&workplace, "-tls1_3 -sess_out ticket.pem", &LINES);
    let facts = server
        .session(&workplace, "-tls1_3 -sess_in ticket.pem -early_data early", &LINES)
        .checked([LINES_BYTES + EARLY.len() as u64, 0]);
    assert_eq!(facts.early_data, EarlyData::Accepted);
    assert_eq!(facts.resumed, Some(true));
}

#[test]
fn tls12_full_and_resumed_under_each_kind_of_cipher() {
    let Some(workplace) = Workplace::new("12") else {
        return;
    };
    let server = Server::start(&workplace, "-rev -tls1_2 -cipher ALL:@SECLEVEL=0 -alpn http/1.1");
    let ciphers = [
        ("ECDHE-RSA-AES128-GCM-SHA256", false),
        ("ECDHE-RSA-CHACHA20-POLY1305", false),
        ("AES128-CCM8", false),
        ("ECDHE-RSA-AES256-SHA384", true),
        ("AES128-SHA", true),
    ];
    for (cipher, padding_unknown) in ciphers {
        let options = format!("-tls1_2 -cipher {cipher}:@SECLEVEL=0 -alpn http/1.1 -sess_out ticket.pem");
        let full = server.session(&workplace, &options, &LINES).checked(ECHOED);
        assert_eq!(full.version.as_deref(), Some("1.2"));
        assert_eq!(full.alpn.as_deref(), Some("http/1.1"));
        assert_eq!((full.resumed, full.handshake_round_trips), (Some(false), Some(2)), "{cipher}");
        assert!(full.certificate_bytes.is_some_and(|bytes| bytes > 500));
        assert_eq!(full.padding_unknown, padding_unknown);
        assert!(full.alerts.contains(&"client: encrypted alert".to_owned()), "{:?}", full.alerts);
        let options = format!("-tls1_2 -cipher {cipher}:@SECLEVEL=0 -sess_in ticket.pem");
        let resumed = server.session(&workplace, &options, &LINES).checked(ECHOED);
        assert_eq!((resumed.resumed, resumed.handshake_round_trips), (Some(true), Some(1)), "{cipher}");
        assert_eq!(resumed.certificate_bytes, Some(0));
    }
}

#[test]
fn a_refused_handshake_tells_its_alert() {
    let Some(workplace) = Workplace::new("refused") else {
        return;
    };
    let server = Server::start(&workplace, "-rev -tls1_3");
    let (facts, _) = server.session(&workplace, "-tls1_2", &[]).read();
    assert_eq!(facts.alerts, ["server: protocol_version"]);
    assert!(!facts.handshake_complete);
}
