// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"sort"
	"syscall"
	"time"
)

// A meter counts for one goroutine; all of them begin after the same warm-up and end at the same time.
type meter struct {
	ops     uint64
	isWarm  bool
	samples []uint32
}

var warmUntil, until time.Time

type usage struct {
	cpu      time.Duration
	switches int64
}

var began, ended usage

func usageNow() usage {
	var used syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &used), "rusage")
	return usage{time.Duration(used.Utime.Nano() + used.Stime.Nano()), used.Nvcsw + used.Nivcsw}
}

func newMeters(n int) []*meter {
	length := time.Duration(seconds * 1e9)
	warmUntil = time.Now().Add(length / 5)
	until = warmUntil.Add(length)
	meters := make([]*meter, n)
	for i := range meters {
		meters[i] = &meter{samples: make([]uint32, 0, 1<<16)}
	}
	if once {
		began = usageNow()
	} else {
		time.AfterFunc(length/5, func() { began = usageNow() })
	}
	return meters
}

func (m *meter) count(ops int, now time.Time) bool {
	if once {
		m.ops += uint64(ops)
		return m.ops < 2 || m.ops < uint64(calls/count)
	}
	if !m.isWarm {
		m.isWarm = !now.Before(warmUntil)
		return true // this one began before
	}
	m.ops += uint64(ops)
	return now.Before(until)
}

func (m *meter) sample(from time.Time, now time.Time) bool {
	if m.isWarm || once {
		m.samples = append(m.samples, uint32(now.Sub(from)))
	}
	return m.count(1, now)
}

func named(variable string, otherwise string) string {
	if value := os.Getenv(variable); value != "" {
		return value
	}
	return otherwise
}

func line(metric string, value float64) {
	fmt.Printf("%s\t%s\t%s\t%s\t%.9g\n", named("BENCH_ROW", "none"), named("BENCH_FAMILY", "none"), named("BENCH_VARIANT", "grpc-go"), metric, value)
}

// Returns the rate.
func printMeters(meters []*meter) float64 {
	ended = usageNow()
	var samples []uint32
	var ops float64
	for _, m := range meters {
		ops += float64(m.ops)
		samples = append(samples, m.samples...)
	}
	if ops == 0 {
		fail("meter", "nothing was measured")
	}
	sort.Slice(samples, func(a, b int) bool { return samples[a] < samples[b] })
	if n := len(samples); n > 0 {
		for _, one := range []struct {
			metric string
			share  float64
		}{{"p50_us", 0.5}, {"p90_us", 0.9}, {"p95_us", 0.95}, {"p99_us", 0.99}, {"p999_us", 0.999}, {"max_us", 1}} {
			line(one.metric, float64(samples[int(float64(n-1)*one.share+0.5)])/1e3)
		}
	}
	length := seconds
	if once {
		length = 1
	}
	line("rate", ops/length)
	line("cpu_us", float64(ended.cpu-began.cpu)/1e3/ops)
	line("ctx", float64(ended.switches-began.switches)/ops)
	return ops / length
}
