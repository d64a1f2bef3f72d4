/* SPDX-License-Identifier: MIT */
/* See grpcxx.h: streams. */
#include "grpcxx.h"

#include <condition_variable>
#include <mutex>

#define AT_A_TIME  1000000 /* messages of one response */
#define CLOCK_EACH 256     /* messages between two looks at the clock */

using ReaderWriter = grpc::ClientReaderWriter<Bytes, Bytes>;

static void must_be(bool ok, const char *what)
{
    if (!ok) {
        bench_fail("stream", what);
    }
}

void bidi_sync()
{
    const ChannelPtr channel = make_channel();
    const RpcMethod method("/bench/Echo", RpcMethod::BIDI_STREAMING);
    const Bytes request = message_of(args.size);
    grpc::ClientContext context;
    Bytes answer;
    bool goes_on = true;

    std::unique_ptr<ReaderWriter> stream(
        grpc::internal::ClientReaderWriterFactory<Bytes, Bytes>::Create(channel.get(), method, &context));
    bench_meter_begin(&meter, &args, 3);
    while (goes_on) {
        const uint64_t from = bench_now_ns();
        must_be(stream->Write(request) && stream->Read(&answer), "ended");
        must_be(answer.Length() == args.size, "a message of another length");
        goes_on = bench_meter_sample(&meter, from, bench_now_ns());
    }
    context.TryCancel();
    stream->Finish();
    bench_meter_print(&meter);
}

void bidi_cq()
{
    grpc::GenericStub stub(make_channel());
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    const Bytes request = message_of(args.size);
    grpc::Status status;
    Bytes answer;
    bool goes_on = true;
    const auto next = [&queue] {
        void *tag;
        bool ok;
        must_be(queue.Next(&tag, &ok) && ok, "ended");
    };

    auto stream = stub.PrepareCall(&context, "/bench/Echo", &queue);
    stream->StartCall(nullptr);
    next();
    bench_meter_begin(&meter, &args, 3);
    while (goes_on) {
        const uint64_t from = bench_now_ns();
        stream->Read(&answer, nullptr);
        stream->Write(request, nullptr);
        next();
        next();
        goes_on = bench_meter_sample(&meter, from, bench_now_ns());
    }
    context.TryCancel();
    stream->Finish(&status, nullptr);
    next();
    queue.Shutdown();
    bench_meter_print(&meter);
}

/* A message goes out when the one before has come back. */
class Echo : public grpc::ClientBidiReactor<Bytes, Bytes> {
public:
    Echo() : stub(make_channel()), request(message_of(args.size))
    {
        stub.PrepareBidiStreamingCall(&context, "/bench/Echo", grpc::StubOptions(), this);
        bench_meter_begin(&meter, &args, 3);
        from_ns = bench_now_ns();
        StartRead(&answer);
        StartWrite(&request);
        StartCall();
    }

    void OnReadDone(bool ok) override
    {
        if (meter.is_over) {
            return;
        }
        must_be(ok && answer.Length() == args.size, "ended");
        if (!bench_meter_sample(&meter, from_ns, bench_now_ns())) {
            context.TryCancel();
            return;
        }
        wanted(true);
    }

    void OnWriteDone(bool) override
    {
        if (!meter.is_over) {
            wanted(false);
        }
    }

    void OnDone(const grpc::Status &) override
    {
        std::lock_guard<std::mutex> lock(mutex);
        is_done = true;
        ended.notify_one();
    }

    void wait()
    {
        std::unique_lock<std::mutex> lock(mutex);
        ended.wait(lock, [this] { return is_done; });
    }

private:
    /* The write may be told done after its echo was read: the next one waits for both. */
    void wanted(bool is_read)
    {
        {
            std::lock_guard<std::mutex> lock(mutex);
            (is_read ? has_read : has_written) = true;
            if (!has_read || !has_written) {
                return;
            }
            has_read = has_written = false;
        }
        from_ns = bench_now_ns();
        StartRead(&answer);
        StartWrite(&request);
    }

    grpc::GenericStub stub;
    grpc::ClientContext context;
    Bytes request, answer;
    uint64_t from_ns;
    std::mutex mutex;
    std::condition_variable ended;
    bool has_read = false, has_written = false, is_done = false;
};

void bidi_callback()
{
    Echo echo;

    echo.wait();
    bench_meter_print(&meter);
}

void receive_sync(const char *name)
{
    const ChannelPtr channel = make_channel();
    const RpcMethod method(name, RpcMethod::SERVER_STREAMING);
    const Bytes request = request_for(args.is_once ? 10 : AT_A_TIME, (uint32_t)args.size);
    const uint64_t each = args.is_once ? 1 : CLOCK_EACH;
    bool goes_on = true;

    bench_meter_begin(&meter, &args, 3);
    while (goes_on) {
        grpc::ClientContext context;
        Bytes answer;
        uint64_t uncounted = 0;
        std::unique_ptr<grpc::ClientReader<Bytes>> stream(
            grpc::internal::ClientReaderFactory<Bytes>::Create(channel.get(), method, &context, request));
        while (goes_on && stream->Read(&answer)) {
            must_be(answer.Length() == args.size, "a message of another length");
            if (++uncounted == each) {
                goes_on = bench_meter_count(&meter, uncounted, bench_now_ns());
                uncounted = 0;
            }
        }
        context.TryCancel();
        const grpc::Status status = stream->Finish();
        if (goes_on) {
            must(status, "stream");
        }
    }
    bench_meter_print(&meter);
}

/* With a hint that more is to come, the library writes when 64 KiB are there; without, every message is a system call. */
void send_sync(bool is_hinted)
{
    const ChannelPtr channel = make_channel();
    const RpcMethod method("/bench/Sink", RpcMethod::CLIENT_STREAMING);
    const Bytes request = message_of(args.size);
    const uint64_t each = args.is_once ? 1 : CLOCK_EACH;
    grpc::WriteOptions options;
    grpc::ClientContext context;
    Bytes answer;
    uint64_t uncounted = 0;
    bool goes_on = true;

    if (is_hinted) {
        options.set_buffer_hint();
    }
    std::unique_ptr<grpc::ClientWriter<Bytes>> stream(
        grpc::internal::ClientWriterFactory<Bytes>::Create(channel.get(), method, &context, &answer));
    bench_meter_begin(&meter, &args, 3);
    while (goes_on) {
        must_be(stream->Write(request, options), "ended");
        if (++uncounted == each) {
            goes_on = bench_meter_count(&meter, uncounted, bench_now_ns());
            uncounted = 0;
        }
    }
    context.TryCancel();
    stream->Finish();
    bench_meter_print(&meter);
}
