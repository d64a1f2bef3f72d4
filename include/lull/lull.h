/* SPDX-License-Identifier: MIT */
/**
 * @file lull.h
 * All of lull in one include.
 */
#ifndef LULL_LULL_H
#define LULL_LULL_H

#include <lull/allocator.h>
#include <lull/call.h>
#include <lull/channel.h>
#include <lull/clock.h>
#include <lull/credentials.h>
#include <lull/executor.h>
#include <lull/idle.h>
#include <lull/keepalive.h>
#include <lull/log.h>
#include <lull/loop.h>
#include <lull/metadata.h>
#include <lull/rc.h>
#include <lull/recycler.h>
#include <lull/rescheduler.h>
#include <lull/server.h>
#include <lull/status.h>
#include <lull/sync.h>
#include <lull/timer.h>
#include <lull/trace.h>
#include <lull/types.h>
#include <lull/version.h>
#include <lull/world.h>

#endif
