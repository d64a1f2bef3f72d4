/* SPDX-License-Identifier: MIT */
/**
 * @file lull.h
 * All of lull in one include.
 *
 * @mainpage
 * A program begins with a channel (lull/channel.h) and makes calls on it: those that block (lull/sync.h), or those that call back (lull/call.h),
 * on the loop of lull's own or on the host's (lull/loop.h). Servers are in lull/server.h, the fake clock for tests in lull/clock.h. Every name is
 * found under "Files" or "Data Structures". The marks [borrow], [own], [ref] and [nullable] on parameters, and what a return value means, are
 * explained in lull/types.h and lull/rc.h.
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
