// SPDX-License-Identifier: MIT

// The client on grpc-go: `grpcgo MODE PORT SECONDS [n=] [size=] [tls=] [deadline=]`, as the C programs. Messages are raw bytes. A call has
// its deadline, and the rest is the library's default. meter.go counts, many.go has channels that come, rest and are counted.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
)

const (
	atATime   = 1000000 // messages of one response
	clockEach = 256     // messages between two looks at the clock
)

var (
	mode     string
	port     string
	seconds  float64
	count    = 1
	size     = 64
	calls    int // so many operations, no warm-up; 0: by time
	ca       string
	deadline = true
	once     = os.Getenv("BENCH_ONCE") == "1"
)

func fail(what string, why interface{}) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", what, why)
	os.Exit(1)
}

func must(err error, what string) {
	if err != nil {
		fail(what, err)
	}
}

// raw hands bytes over as they are.
type raw struct{}

func (raw) Marshal(v interface{}) ([]byte, error) { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v interface{}) error {
	*v.(*[]byte) = data
	return nil
}
func (raw) Name() string { return "raw" }

func dial(keepaliveTime time.Duration) *grpc.ClientConn {
	options := []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(1<<30))}
	if ca == "" {
		options = append(options, grpc.WithInsecure())
	} else {
		roots, err := credentials.NewClientTLSFromFile(ca, "")
		must(err, "credentials")
		options = append(options, grpc.WithTransportCredentials(roots))
	}
	if keepaliveTime > 0 {
		options = append(options, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, PermitWithoutStream: true}))
	}
	conn, err := grpc.Dial("127.0.0.1:"+port, options...)
	must(err, "dial")
	return conn
}

func call(conn *grpc.ClientConn, request *[]byte) {
	invoke(conn, "/bench/Unary", request, size)
}

func invoke(conn *grpc.ClientConn, path string, request *[]byte, wanted int) {
	ctx := context.Background()
	if deadline {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
	}
	var answer []byte
	must(conn.Invoke(ctx, path, request, &answer), "call")
	if len(answer) != wanted {
		fail("call", "an answer of another length")
	}
}

// Each of so many goroutines makes calls that block.
func unary() {
	conn := dial(0)
	request := make([]byte, size)
	call(conn, &request)
	meters := newMeters(count)
	var all sync.WaitGroup
	for i := 0; i < count; i++ {
		all.Add(1)
		go func(m *meter) {
			defer all.Done()
			for goesOn := true; goesOn; {
				from := time.Now()
				call(conn, &request)
				goesOn = m.sample(from, time.Now())
			}
		}(meters[i])
	}
	all.Wait()
	printMeters(meters)
}

// A message of `size` bytes one way, and a small one the other.
func big(isReceived bool) {
	conn := dial(0)
	path, wanted := "/bench/Sink", 64
	request := make([]byte, size)
	if isReceived {
		path, wanted = "/bench/Big", size
		request = make([]byte, 4)
		binary.BigEndian.PutUint32(request, uint32(size))
	}
	invoke(conn, path, &request, wanted)
	meters := newMeters(1)
	for goesOn := true; goesOn; {
		from := time.Now()
		invoke(conn, path, &request, wanted)
		goesOn = meters[0].sample(from, time.Now())
	}
	line("mb_per_s", printMeters(meters)*float64(size)/1e6)
}

func stream(conn *grpc.ClientConn, path string, sends bool, receives bool) (grpc.ClientStream, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	one, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: sends, ServerStreams: receives}, path)
	must(err, "stream")
	return one, cancel
}

func bidi() {
	one, cancel := stream(dial(0), "/bench/Echo", true, true)
	defer cancel()
	request := make([]byte, size)
	var answer []byte
	meters := newMeters(1)
	for goesOn := true; goesOn; {
		from := time.Now()
		must(one.SendMsg(&request), "stream")
		must(one.RecvMsg(&answer), "stream")
		if len(answer) != size {
			fail("stream", "a message of another length")
		}
		goesOn = meters[0].sample(from, time.Now())
	}
	printMeters(meters)
}

func receive(path string) {
	conn := dial(0)
	request := make([]byte, 8)
	each := clockEach
	binary.BigEndian.PutUint32(request, atATime)
	if once {
		binary.BigEndian.PutUint32(request, 10)
		each = 1
	}
	binary.BigEndian.PutUint32(request[4:], uint32(size))
	meters := newMeters(1)
	for goesOn := true; goesOn; {
		one, cancel := stream(conn, path, false, true)
		must(one.SendMsg(&request), "stream")
		must(one.CloseSend(), "stream")
		uncounted := 0
		var answer []byte
		for goesOn && one.RecvMsg(&answer) == nil {
			if len(answer) != size {
				fail("stream", "a message of another length")
			}
			if uncounted++; uncounted == each {
				goesOn = meters[0].count(uncounted, time.Now())
				uncounted = 0
			}
		}
		cancel()
	}
	printMeters(meters)
}

func send() {
	one, cancel := stream(dial(0), "/bench/Sink", true, false)
	defer cancel()
	request := make([]byte, size)
	each := clockEach
	if once {
		each = 1
	}
	meters := newMeters(1)
	for goesOn := true; goesOn; {
		for i := 0; i < each; i++ {
			must(one.SendMsg(&request), "stream")
		}
		goesOn = meters[0].count(each, time.Now())
	}
	printMeters(meters)
}

func arguments() {
	if len(os.Args) < 4 {
		fail("usage", "grpcgo MODE PORT SECONDS [n=COUNT] [size=BYTES] [tls=CA] [deadline=0|1] [calls=COUNT]")
	}
	mode, port = os.Args[1], os.Args[2]
	seconds, _ = strconv.ParseFloat(os.Args[3], 64)
	for _, one := range os.Args[4:] {
		at := strings.Index(one, "=") + 1
		switch one[:at] {
		case "n=":
			count, _ = strconv.Atoi(one[at:])
		case "size=":
			size, _ = strconv.Atoi(one[at:])
		case "calls=":
			calls, _ = strconv.Atoi(one[at:])
			once = once || calls > 0
		case "tls=":
			ca = one[at:]
		case "deadline=":
			deadline = one[at:] != "0"
		default:
			fail("no such argument", one)
		}
	}
	if once && calls == 0 && count > 8 {
		count = 8
	}
}

func main() {
	arguments()
	switch mode {
	case "unary":
		unary()
	case "big-recv", "big-send":
		big(mode == "big-recv")
	case "bidi":
		bidi()
	case "recv-frames":
		receive("/bench/Frames")
	case "recv-packed":
		receive("/bench/Source")
	case "send":
		send()
	case "connect":
		connects()
	case "memory":
		memory()
	case "keepalive", "quiet":
		wakeups(mode == "keepalive")
	default:
		fail("no such mode", mode)
	}
}
