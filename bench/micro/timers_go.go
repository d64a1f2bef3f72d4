// SPDX-License-Identifier: MIT

// Go's time.Timer in the families "push" and "attempt": Reset pushes a deadline out; an attempt is two time.AfterFunc and two
// Stop. The rows are those of timers_rows.h.
package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"time"
)

const (
	second = int64(1e9)
	block  = 200 * time.Microsecond
)

var (
	family string
	once   = os.Getenv("BENCH_ONCE") == "1"
	budget time.Duration
	ring   [65536]byte
	ringAt int
	random uint32
)

func work() {
	bytes := ring[ringAt : ringAt+4096]
	ringAt = (ringAt + 4096) % len(ring)
	for i := 0; i < 4096; i += 64 {
		bytes[i]++
	}
}

func below(limit int) int {
	random ^= random << 13
	random ^= random >> 17
	random ^= random << 5
	return int((uint64(random) * uint64(limit)) >> 32)
}

func timeBlock(fn func(int), count int) float64 {
	from := time.Now()
	fn(count)
	return float64(time.Since(from))
}

var sink int

func measure(row string, others int, fn func(int), empty func(int)) {
	fn(64)
	count := 16
	for !once && timeBlock(fn, count) < float64(block)/2 && count < 1<<24 {
		count *= 2
	}
	var took []float64
	least := 0.0
	end := time.Now().Add(budget)
	for len(took) < 2000 && (len(took) < 7 || (!once && time.Now().Before(end))) {
		took = append(took, timeBlock(fn, count))
		without := timeBlock(empty, count)
		if len(took) == 1 || without < least {
			least = without
		}
	}
	sort.Float64s(took)
	n := float64(count)
	line := func(metric string, value float64) {
		fmt.Printf("%s@%d\t%s\tgo\t%s\t%.6g\n", row, others, family, metric, value)
	}
	line("ns", (took[0]-least)/n)
	line("mid_ns", (took[len(took)/2]-least)/n)
	line("empty_ns", least/n)
}

func nothing() {}

func rowsWith(others int) {
	timers := make([]*time.Timer, others+1)
	for i := range timers {
		after := 10*second + int64(uint64(i)*2654435761%50000)*1000000
		timers[i] = time.AfterFunc(time.Duration(after), nothing)
	}
	defer func() {
		for _, timer := range timers {
			timer.Stop()
		}
	}()
	push := time.Duration(30 * second)
	random = 2463534242
	if family == "push" {
		measure("hot", others, func(n int) {
			for i := 0; i < n; i++ {
				timers[0].Reset(push)
			}
		}, func(n int) {
			for i := 0; i < n; i++ {
				sink++
			}
		})
		measure("random", others, func(n int) {
			for i := 0; i < n; i++ {
				timers[1+below(others)].Reset(push)
			}
		}, func(n int) {
			for i := 0; i < n; i++ {
				sink += below(others)
			}
		})
		measure("work", others, func(n int) {
			for i := 0; i < n; i++ {
				work()
				timers[1+below(others)].Reset(push)
			}
		}, func(n int) {
			for i := 0; i < n; i++ {
				work()
				sink += below(others)
			}
		})
		return
	}
	attempt := func(value int) {
		window := time.AfterFunc(time.Duration(10*second+int64(value)*10000000), nothing)
		deadline := time.AfterFunc(time.Duration(60*second+int64(value)*10000000), nothing)
		window.Stop()
		deadline.Stop()
	}
	loop := func(values int, works bool, arms bool) func(int) {
		return func(n int) {
			for i := 0; i < n; i++ {
				if works {
					work()
				}
				if arms {
					attempt(i & (values - 1))
				} else {
					sink++
				}
			}
		}
	}
	measure("one", others, loop(1, false, true), loop(1, false, false))
	measure("work", others, loop(1, true, true), loop(1, true, false))
	measure("64-values", others, loop(64, false, true), loop(64, false, false))
}

func main() {
	if len(os.Args) < 2 || (os.Args[1] != "push" && os.Args[1] != "attempt") {
		fmt.Fprintln(os.Stderr, "usage: push|attempt [SECONDS]")
		os.Exit(1)
	}
	family = os.Args[1]
	seconds := 1.0
	if len(os.Args) > 2 {
		seconds, _ = strconv.ParseFloat(os.Args[2], 64)
	}
	budget = time.Duration(seconds * 1e9 / 9)
	counts := []int{1, 1000, 100000}
	if once {
		counts = counts[:2]
	}
	for _, others := range counts {
		rowsWith(others)
	}
}
