/* SPDX-License-Identifier: MIT */
/* See grpcxx.h. Here: the setting, and unary calls by each of the three APIs. */
#include "grpcxx.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

bench_args args;
bench_meter meter;

static std::string file_of(const char *path)
{
    std::ifstream file(path);
    std::stringstream text;

    text << file.rdbuf();
    return text.str();
}

ChannelPtr make_channel(int keepalive_ms)
{
    grpc::ChannelArguments options;
    std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();

    options.SetInt("grpc.use_local_subchannel_pool", 1);
    if (keepalive_ms > 0) {
        options.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive_ms);
        options.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
        options.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    }
    if (args.ca != nullptr) {
        grpc::SslCredentialsOptions ssl;
        ssl.pem_root_certs = file_of(args.ca);
        credentials = grpc::SslCredentials(ssl);
    }
    return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(args.port), credentials, options);
}

Bytes message_of(size_t size)
{
    grpc::Slice slice(std::string(size, 'x'));

    return Bytes(&slice, 1);
}

Bytes request_for(uint32_t count, uint32_t size)
{
    char bytes[8];

    for (int i = 0; i < 4; i++) {
        bytes[i] = (char)(count >> (24 - 8 * i));
        bytes[4 + i] = (char)(size >> (24 - 8 * i));
    }
    grpc::Slice slice(bytes, sizeof(bytes));
    return Bytes(&slice, 1);
}

void set_deadline(grpc::ClientContext *context)
{
    if (args.deadline) {
        context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    }
}

void must(const grpc::Status &status, const char *what)
{
    if (!status.ok()) {
        bench_fail(what, status.error_message().c_str());
    }
}

static void must_answer(const grpc::Status &status, const Bytes &answer, size_t wanted = args.size)
{
    must(status, "call");
    if (answer.Length() != wanted) {
        bench_fail("call", "an answer of another length");
    }
}

static void call(const ChannelPtr &channel, const RpcMethod &method, const Bytes &request, size_t wanted)
{
    grpc::ClientContext context;
    Bytes answer;

    set_deadline(&context);
    must_answer(grpc::internal::BlockingUnaryCall<Bytes, Bytes>(channel.get(), method, &context, request, &answer), answer, wanted);
}

void call_once(const ChannelPtr &channel, const Bytes &request)
{
    static const RpcMethod method("/bench/Unary", RpcMethod::NORMAL_RPC);

    call(channel, method, request, args.size);
}

/* ---- blocking */
static void unary_sync()
{
    const ChannelPtr channel = make_channel();
    const Bytes request = message_of(args.size);
    bool goes_on = true;

    call_once(channel, request);
    bench_meter_begin(&meter, &args, 3);
    while (goes_on) {
        const uint64_t from = bench_now_ns();
        call_once(channel, request);
        goes_on = bench_meter_sample(&meter, from, bench_now_ns());
    }
    bench_meter_print(&meter);
}

/* A message of `size` bytes one way, and a small one the other. */
static void big_sync(bool is_received)
{
    const ChannelPtr channel = make_channel();
    const RpcMethod method(is_received ? "/bench/Big" : "/bench/Sink", RpcMethod::NORMAL_RPC);
    const Bytes request = is_received ? request_for((uint32_t)args.size, 0) : message_of(args.size);
    const size_t wanted = is_received ? args.size : 64;
    bool goes_on = true;

    call(channel, method, request, wanted);
    bench_meter_begin(&meter, &args, 3);
    while (goes_on) {
        const uint64_t from = bench_now_ns();
        call(channel, method, request, wanted);
        goes_on = bench_meter_sample(&meter, from, bench_now_ns());
    }
    bench_meter_print(&meter);
    bench_print("mb_per_s", (double)meter.ops * (double)args.size / 1e6 / ((double)(meter.ended_ns - meter.began_ns) / 1e9));
}

/* As many threads as `n` says, on one channel. Each counts for itself. */
static void threads()
{
    struct alignas(64) Count {
        std::atomic<uint64_t> calls{0};
    };
    const ChannelPtr channel = make_channel();
    const Bytes request = message_of(args.size);
    std::vector<Count> counts((size_t)args.count);
    std::vector<std::thread> callers;
    std::atomic<bool> is_over{false};
    struct bench_usage began, ended;
    const auto sum = [&counts] {
        uint64_t all = 0;
        for (const Count &count : counts) {
            all += count.calls.load(std::memory_order_relaxed);
        }
        return all;
    };

    for (int i = 0; i < args.count; i++) {
        callers.emplace_back([&, i] {
            do {
                call_once(channel, request);
                counts[(size_t)i].calls.fetch_add(1, std::memory_order_relaxed);
            } while (!is_over.load(std::memory_order_relaxed));
        });
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(args.seconds / 5));
    bench_usage(&began);
    const uint64_t before = sum();
    const uint64_t from = bench_now_ns();
    std::this_thread::sleep_for(std::chrono::duration<double>(args.seconds));
    const uint64_t until = bench_now_ns();
    double ops = (double)(sum() - before);
    bench_usage(&ended);
    is_over = true;
    for (std::thread &caller : callers) {
        caller.join();
    }
    if (ops < 1) {
        ops = (double)sum(); /* a moment was not enough for one */
    }
    bench_print("rate", ops / ((double)(until - from) / 1e9));
    bench_print("cpu_us", (double)(ended.cpu_ns - began.cpu_ns) / 1e3 / ops);
    bench_print("ctx", (double)(ended.switches - began.switches) / ops);
}

/* ---- completion queue */
struct CqCall {
    std::unique_ptr<grpc::ClientContext> context;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
    Bytes answer;
    grpc::Status status;
    uint64_t from_ns;

    void start(grpc::GenericStub *stub, const Bytes &request, grpc::CompletionQueue *queue)
    {
        from_ns = bench_now_ns();
        answer.Clear();
        context.reset(new grpc::ClientContext);
        set_deadline(context.get());
        reader = stub->PrepareUnaryCall(context.get(), "/bench/Unary", request, queue);
        reader->StartCall();
        reader->Finish(&answer, &status, this);
    }
};

static void unary_cq()
{
    grpc::GenericStub stub(make_channel());
    grpc::CompletionQueue queue;
    const Bytes request = message_of(args.size);
    std::vector<CqCall> calls((size_t)args.count);
    size_t open = calls.size();
    void *tag;
    bool ok;

    calls[0].start(&stub, request, &queue); /* connects */
    queue.Next(&tag, &ok);
    must_answer(calls[0].status, calls[0].answer);
    bench_meter_begin(&meter, &args, (uint64_t)args.count * 2);
    for (CqCall &call : calls) {
        call.start(&stub, request, &queue);
    }
    while (open > 0 && queue.Next(&tag, &ok)) {
        CqCall *call = static_cast<CqCall *>(tag);
        must_answer(call->status, call->answer);
        if (bench_meter_sample(&meter, call->from_ns, bench_now_ns())) {
            call->start(&stub, request, &queue);
        } else {
            open--;
        }
    }
    queue.Shutdown();
    bench_meter_print(&meter);
}

/* ---- callbacks, on the library's threads */
struct Callbacks {
    grpc::GenericStub stub;
    Bytes request;
    std::mutex mutex; /* of the meter, and what follows */
    std::condition_variable ended;
    int open = 0;

    Callbacks() : stub(make_channel()), request(message_of(args.size)) {}
};

struct CallbackCall {
    Callbacks *all;
    std::unique_ptr<grpc::ClientContext> context;
    Bytes answer;
    uint64_t from_ns;

    void start()
    {
        from_ns = bench_now_ns();
        answer.Clear();
        context.reset(new grpc::ClientContext);
        set_deadline(context.get());
        all->stub.UnaryCall(context.get(), "/bench/Unary", grpc::StubOptions(), &all->request, &answer,
                            [this](grpc::Status status) { done(status); });
    }

    void done(const grpc::Status &status)
    {
        must_answer(status, answer);
        {
            std::lock_guard<std::mutex> lock(all->mutex);
            if (!bench_meter_sample(&meter, from_ns, bench_now_ns())) {
                all->open--;
                all->ended.notify_one();
                return;
            }
        }
        start();
    }
};

static void unary_callback()
{
    Callbacks all;
    std::vector<CallbackCall> calls((size_t)args.count);

    bench_meter_begin(&meter, &args, (uint64_t)args.count * 2);
    all.open = args.count;
    for (CallbackCall &call : calls) {
        call.all = &all;
        call.start();
    }
    std::unique_lock<std::mutex> lock(all.mutex);
    all.ended.wait(lock, [&all] { return all.open == 0; });
    bench_meter_print(&meter);
}

int main(int argc, char **argv)
{
    bench_arguments(&args, argc, argv);
    const std::string mode = args.mode;
    if (mode == "unary-sync") {
        unary_sync();
    } else if (mode == "unary-cq") {
        unary_cq();
    } else if (mode == "unary-callback") {
        unary_callback();
    } else if (mode == "big-recv" || mode == "big-send") {
        big_sync(mode == "big-recv");
    } else if (mode == "threads") {
        threads();
    } else if (mode == "bidi-sync") {
        bidi_sync();
    } else if (mode == "bidi-cq") {
        bidi_cq();
    } else if (mode == "bidi-callback") {
        bidi_callback();
    } else if (mode == "recv-frames") {
        receive_sync("/bench/Frames");
    } else if (mode == "recv-packed") {
        receive_sync("/bench/Source");
    } else if (mode == "send" || mode == "send-hinted") {
        send_sync(mode == "send-hinted");
    } else if (mode == "connect") {
        connects();
    } else if (mode == "memory") {
        memory();
    } else if (mode == "keepalive" || mode == "quiet") {
        wakeups(mode == "keepalive");
    } else {
        bench_fail("no such mode", args.mode);
    }
    return 0;
}
