// SPDX-License-Identifier: MIT
'use strict';

// The client on grpc-js: `grpcjs MODE PORT SECONDS [n=] [size=] [tls=] [deadline=]`, as the C programs. Messages are raw bytes. A channel has
// its own connection, a call its deadline, and the rest is the library's default. bench/setup puts the library where $LULL_BENCH_NODE says.
const fs = require('fs');
const path = require('path');

let grpc;
try {
    grpc = require(path.join(process.env.LULL_BENCH_NODE, 'node_modules', '@grpc', 'grpc-js'));
} catch (why) {
    if (why.code !== 'MODULE_NOT_FOUND' && why.code !== 'ERR_INVALID_ARG_TYPE') {
        throw why;
    }
    process.stderr.write('@grpc/grpc-js is not installed (bench/setup)\n');
    process.exit(77);
}

const AT_A_TIME = 1000000; // messages of one response
const CLOCK_EACH = 64;     // messages between two looks at the clock
// The compiler wants longer than a fifth of a measurement to find out what is hot: so much CPU time, or on a busy machine so long.
const WARM_CPU_US = 2000000;
const WARM_LIMIT_MS = 20000;

const once = process.env.BENCH_ONCE === '1';
const args = {mode: process.argv[2], port: Number(process.argv[3]), seconds: Number(process.argv[4]), n: 1, size: 64, tls: '', deadline: 1};
for (const one of process.argv.slice(5)) {
    const [name, value] = one.split('=');
    args[name] = name === 'tls' ? value : Number(value);
}
if (once && args.n > 8) {
    args.n = 8;
}
const each = once ? 1 : CLOCK_EACH;
const request = Buffer.alloc(args.size);
const same = (bytes) => bytes;

function fail(what, why) {
    process.stderr.write(`${what}: ${why}\n`);
    process.exit(1);
}

function line(metric, value) {
    const named = ['ROW', 'FAMILY', 'VARIANT'].map((one) => process.env[`BENCH_${one}`] || 'none');
    fs.writeSync(1, `${named.join('\t')}\t${metric}\t${value}\n`);
}

function usage() {
    const used = process.resourceUsage();
    return {cpu_us: used.userCPUTime + used.systemCPUTime, ctx: used.voluntaryContextSwitches + used.involuntaryContextSwitches,
        woken: used.voluntaryContextSwitches};
}

// ---- counting: times are milliseconds
const meter = {ops: 0, samples: [], is_warm: false, is_over: false};

function begin() {
    meter.warm_look = performance.now();
    meter.warm_limit = meter.warm_look + WARM_LIMIT_MS;
    meter.cpu_before = usage().cpu_us;
}

function isWarmedUp(now) {
    if (once || now >= meter.warm_limit) {
        return true;
    }
    if (now < meter.warm_look) {
        return false;
    }
    meter.warm_look = now + 50;
    return usage().cpu_us - meter.cpu_before >= WARM_CPU_US;
}

function count(ops, now) {
    if (!meter.is_warm) {
        if (!isWarmedUp(now)) {
            return true;
        }
        meter.is_warm = true;
        meter.until = now + args.seconds * 1000;
        meter.began = usage();
        meter.from = now;
        if (!once) {
            return true; // this one began before
        }
    }
    meter.ops += ops;
    meter.is_over = once ? meter.ops >= 2 : now >= meter.until;
    return !meter.is_over;
}

function sample(from, now) {
    if (meter.is_warm && !meter.is_over) {
        meter.samples.push(now - from);
    }
    return count(1, now);
}

function finish() {
    const used = usage();
    const seconds = (performance.now() - meter.from) / 1000;
    const samples = Float64Array.from(meter.samples).sort();
    if (samples.length > 0) {
        for (const [metric, share] of [['p50_us', 0.5], ['p90_us', 0.9], ['p95_us', 0.95], ['p99_us', 0.99], ['p999_us', 0.999], ['max_us', 1]]) {
            line(metric, samples[Math.floor((samples.length - 1) * share + 0.5)] * 1000);
        }
    }
    line('rate', meter.ops / seconds);
    line('cpu_us', (used.cpu_us - meter.began.cpu_us) / meter.ops);
    line('ctx', (used.ctx - meter.began.ctx) / meter.ops);
    process.exit(0);
}

// ---- channels and calls
function client(keepalive) {
    const options = {'grpc.use_local_subchannel_pool': 1};
    if (keepalive) {
        options['grpc.keepalive_time_ms'] = 10000;
        options['grpc.keepalive_permit_without_calls'] = 1;
    }
    const credentials = args.tls ? grpc.credentials.createSsl(fs.readFileSync(args.tls)) : grpc.credentials.createInsecure();
    return new grpc.Client(`127.0.0.1:${args.port}`, credentials, options);
}

function call(on, done) {
    const options = args.deadline ? {deadline: Date.now() + 10000} : {};
    on.makeUnaryRequest('/bench/Unary', same, same, request, new grpc.Metadata(), options, (why, answer) => {
        if (why) {
            fail('call', why);
        }
        if (answer.length !== args.size) {
            fail('call', 'an answer of another length');
        }
        done();
    });
}

function unary() {
    const on = client(false);
    let open = args.n;
    const start = () => {
        const from = performance.now();
        call(on, () => {
            if (meter.is_over || !sample(from, performance.now())) {
                if (--open === 0) {
                    finish();
                }
                return;
            }
            start();
        });
    };
    call(on, () => {
        begin();
        for (let i = 0; i < args.n; i++) {
            start();
        }
    });
}

const ignore = () => {};

function bidi() {
    const stream = client(false).makeBidiStreamRequest('/bench/Echo', same, same, new grpc.Metadata());
    let from;
    stream.on('error', ignore);
    stream.on('data', (answer) => {
        if (answer.length !== args.size) {
            fail('stream', 'a message of another length');
        }
        if (!sample(from, performance.now())) {
            finish();
        }
        from = performance.now();
        stream.write(request);
    });
    begin();
    from = performance.now();
    stream.write(request);
}

function receive(name) {
    const on = client(false);
    const wanted = Buffer.alloc(8);
    let uncounted = 0;
    wanted.writeUInt32BE(once ? 10 : AT_A_TIME, 0);
    wanted.writeUInt32BE(args.size, 4);
    const start = () => {
        const stream = on.makeServerStreamRequest(`/bench/${name}`, same, same, wanted, new grpc.Metadata());
        stream.on('error', (why) => fail('stream', why));
        stream.on('data', (answer) => {
            if (answer.length !== args.size) {
                fail('stream', 'a message of another length');
            }
            if (++uncounted === each) {
                uncounted = 0;
                if (!count(each, performance.now())) {
                    finish();
                }
            }
        });
        stream.on('end', start);
    };
    begin();
    start();
}

function send() {
    const stream = client(false).makeClientStreamRequest('/bench/Sink', same, same, new grpc.Metadata(), ignore);
    let uncounted = 0;
    const more = () => {
        for (;;) {
            const goesOn = stream.write(request);
            if (++uncounted === each) {
                uncounted = 0;
                if (!count(each, performance.now())) {
                    finish();
                }
            }
            if (!goesOn) {
                stream.once('drain', more);
                return;
            }
        }
    };
    begin();
    more();
}

function connects() {
    const next = () => {
        const from = performance.now();
        const on = client(false);
        call(on, () => {
            const goesOn = sample(from, performance.now());
            on.close();
            if (goesOn) {
                setImmediate(next);
            } else {
                finish();
            }
        });
    };
    begin();
    next();
}

// ---- many channels at rest
function makeClients(n, keepalive, done) {
    const clients = [];
    const next = () => {
        if (clients.length === n) {
            done(clients);
            return;
        }
        clients.push(client(keepalive));
        call(clients[clients.length - 1], next);
    };
    next();
}

function status(field) {
    const found = fs.readFileSync('/proc/self/status', 'utf8').match(new RegExp(`^${field}:\\s*(\\d+)`, 'm'));
    return found ? Number(found[1]) : 0;
}

function memory() {
    makeClients(1, false, () => { // what is there once is no channel's
        const rss = status('VmRSS');
        makeClients(args.n, false, (clients) => {
            line('rss_kib', (status('VmRSS') - rss) / clients.length);
            line('threads', status('Threads'));
            process.exit(0);
        });
    });
}

// Connections to the server's port that are established.
function alive() {
    const wanted = `:${args.port.toString(16).toUpperCase().padStart(4, '0')}`;
    let found = 0;
    for (const file of ['/proc/self/net/tcp', '/proc/self/net/tcp6']) {
        if (fs.existsSync(file)) {
            found += fs.readFileSync(file, 'utf8').split('\n').map((one) => one.trim().split(/\s+/))
                .filter((columns) => columns.length > 3 && columns[2].endsWith(wanted) && columns[3] === '01').length;
        }
    }
    return found;
}

function wakeups(keepalive) {
    makeClients(args.n, keepalive, (clients) => {
        setTimeout(() => {
            const before = usage().woken;
            setTimeout(() => {
                const woken = usage().woken - before - 1; // less the one that ends the measurement
                line('wakeups_per_s', Math.max(woken, 0) / args.seconds);
                line('alive', clients.length && alive());
                process.exit(0);
            }, args.seconds * 1000);
        }, once ? 10 : 1000); // what the connections still had to say
    });
}

const modes = {unary, bidi, 'recv-frames': () => receive('Frames'), 'recv-packed': () => receive('Source'), send, connect: connects, memory,
    keepalive: () => wakeups(true), quiet: () => wakeups(false)};
if (!(args.mode in modes)) {
    fail('no such mode', args.mode);
}
modes[args.mode]();
