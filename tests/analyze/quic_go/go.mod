module quicends

go 1.22

require github.com/quic-go/quic-go v0.48.2

require (
	github.com/francoispqt/gojay v1.2.13 // indirect
	golang.org/x/crypto v0.26.0 // indirect
	golang.org/x/exp v0.0.0-20240506185415-9bf2ced13842 // indirect
	golang.org/x/net v0.28.0 // indirect
	golang.org/x/sys v0.23.0 // indirect
)
