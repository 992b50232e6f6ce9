// Command quicends is a server or a client of quic-go, with the words of tests/analyze/quic_programs.py: so many bytes on one
// stream of each connection. The server logs what it does (qlog), the client its secrets.
//
//	quicends server FOLDER CERTIFICATE KEY
//	quicends client FOLDER ADDRESS BYTES WINDOW ...
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
)

const (
	port     = "4433"
	protocol = "lab"
	closed   = 7
)

func main() {
	words := os.Args[1:]
	if len(words) < 4 {
		log.Fatal("server FOLDER CERTIFICATE KEY, or client FOLDER ADDRESS BYTES WINDOW ...")
	}
	if words[0] == "server" {
		serve(words[1], words[2], words[3])
		return
	}
	for _, window := range words[4:] {
		fetch(words[1], words[2], words[3], number(window))
	}
}

func number(text string) uint64 {
	value, err := strconv.ParseUint(text, 10, 64)
	must(err)
	return value
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func serve(folder, certificate, key string) {
	must(os.Setenv("QLOGDIR", folder))
	pair, err := tls.LoadX509KeyPair(certificate, key)
	must(err)
	secured := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{protocol}}
	listener, err := quic.ListenAddr(":"+port, secured, &quic.Config{Tracer: qlog.DefaultConnectionTracer})
	must(err)
	fmt.Println("ready")
	for {
		connection, err := listener.Accept(context.Background())
		must(err)
		go send(connection)
	}
}

// send sends as many bytes as it is asked for.
func send(connection quic.Connection) {
	stream, err := connection.AcceptStream(context.Background())
	if err != nil {
		return
	}
	asked, err := io.ReadAll(stream)
	if err != nil {
		return
	}
	if _, err = stream.Write(make([]byte, number(string(asked)))); err == nil {
		err = stream.Close()
	}
	if err != nil {
		log.Print(err)
	}
}

func fetch(folder, address, bytes string, window uint64) {
	keys, err := os.OpenFile(filepath.Join(folder, "keys.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(err)
	defer keys.Close()
	secured := &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{protocol}, ServerName: "web.lab.test", KeyLogWriter: keys,
	}
	limits := &quic.Config{InitialStreamReceiveWindow: window, MaxStreamReceiveWindow: window}
	connection, err := quic.DialAddr(context.Background(), net.JoinHostPort(address, port), secured, limits)
	must(err)
	stream, err := connection.OpenStreamSync(context.Background())
	must(err)
	_, err = stream.Write([]byte(bytes))
	must(err)
	must(stream.Close())
	received, err := io.ReadAll(stream)
	must(err)
	if uint64(len(received)) != number(bytes) {
		log.Fatalf("%d bytes of %s", len(received), bytes)
	}
	must(connection.CloseWithError(closed, "enough"))
}
