/* SPDX-License-Identifier: MIT */
/*
 * The client on gRPC C++: `grpcxx MODE PORT SECONDS [n=] [size=] [tls=] [deadline=]`, the arguments and the meter are those of the C programs
 * (common.h). Messages are raw bytes, so no protoc is needed. A channel has its own connection, a call its deadline, and the rest is
 * the library's default. grpcxx.cc has unary calls, grpcxx_stream.cc streams, grpcxx_many.cc channels that come, rest and are counted.
 */
#ifndef BENCH_RIVALS_GRPCXX_H
#define BENCH_RIVALS_GRPCXX_H

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/sync_stream.h>

#include <memory>
#include <string>

#define _Noreturn [[noreturn]]
extern "C" {
#include "common.h"
}
#undef _Noreturn

using Bytes = grpc::ByteBuffer;
using ChannelPtr = std::shared_ptr<grpc::Channel>;
using grpc::internal::RpcMethod;

extern bench_args args;
extern bench_meter meter;

/* keepalive_ms: 0 for none. */
ChannelPtr make_channel(int keepalive_ms = 0);
Bytes message_of(size_t size);
/* 4 bytes big-endian: how many messages; 4 bytes: the length of each. */
Bytes request_for(uint32_t count, uint32_t size);
void set_deadline(grpc::ClientContext *context);
void must(const grpc::Status &status, const char *what);
/* One call that blocks. */
void call_once(const ChannelPtr &channel, const Bytes &request);

/* Modes. */
void bidi_sync();
void bidi_cq();
void bidi_callback();
void receive_sync(const char *method);
void send_sync(bool is_hinted);
void connects();
void memory();
void wakeups(bool has_keepalive);

#endif
