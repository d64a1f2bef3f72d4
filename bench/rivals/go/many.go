// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
)

// A connection of its own for each call.
func connects() {
	request := make([]byte, size)
	meters := newMeters(1)
	for goesOn := true; goesOn; {
		from := time.Now()
		conn := dial(0)
		call(conn, &request)
		goesOn = meters[0].sample(from, time.Now())
		conn.Close()
	}
	printMeters(meters)
}

func allFiles() {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		files.Cur = files.Max
		syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files)
	}
}

func makeChannels(keepaliveTime time.Duration) []*grpc.ClientConn {
	request := make([]byte, size)
	conns := make([]*grpc.ClientConn, count)
	for i := range conns {
		conns[i] = dial(keepaliveTime)
		call(conns[i], &request)
	}
	return conns
}

func status(field string) float64 {
	text, err := os.ReadFile("/proc/self/status")
	must(err, "status")
	for _, one := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(one, field+":") {
			value, _ := strconv.ParseFloat(strings.Fields(one)[1], 64)
			return value
		}
	}
	return 0
}

// What is garbage goes back to the system first.
func memory() {
	allFiles()
	request := make([]byte, size)
	first := dial(0)
	call(first, &request)
	debug.FreeOSMemory()
	rss := status("VmRSS")
	conns := makeChannels(0)
	debug.FreeOSMemory()
	line("rss_kib", (status("VmRSS")-rss)/float64(count))
	line("threads", status("Threads"))
	runtime.KeepAlive(conns)
	runtime.KeepAlive(first)
}

// Connections to the server's port that are established.
func alive() float64 {
	number, _ := strconv.Atoi(port)
	wanted := fmt.Sprintf(":%04X", number)
	found := 0
	for _, path := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, _ := os.ReadFile(path)
		for _, one := range strings.Split(string(text), "\n") {
			columns := strings.Fields(one)
			if len(columns) > 3 && strings.HasSuffix(columns[2], wanted) && columns[3] == "01" {
				found++
			}
		}
	}
	return float64(found)
}

func wakeups(hasKeepalive bool) {
	allFiles()
	var keepaliveTime time.Duration
	if hasKeepalive {
		keepaliveTime = 10 * time.Second
	}
	conns := makeChannels(keepaliveTime)
	rest := time.Second // what the connections still had to say
	if once {
		rest = 10 * time.Millisecond
	}
	time.Sleep(rest)
	var before, after syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	time.Sleep(time.Duration(seconds * 1e9))
	syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	woken := float64(after.Nvcsw - before.Nvcsw - 1) // less the one that ends the measurement
	if woken < 0 {
		woken = 0
	}
	line("wakeups_per_s", woken/seconds)
	line("alive", alive())
	runtime.KeepAlive(conns)
}
