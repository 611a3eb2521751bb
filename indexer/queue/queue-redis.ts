import { Redis } from 'ioredis'

/**
 * A connection on which BullMQ does not learn the eviction policy: it would warn on standard error, in its own words, for
 * each queue and worker. `checkRedis` reports the policy once, as the log's other warnings.
 */
export class QueueRedis extends Redis {
  override sendCommand(...[command, stream]: Parameters<Redis['sendCommand']>): unknown {
    const reply = super.sendCommand(command, stream)
    if (command.name !== 'info' || !(reply instanceof Promise)) return reply
    const shortened = reply.then((text: unknown) => String(text).replace(/^maxmemory_policy:.*$/m, ''))
    // ioredis sends unanswered commands again after a reconnect, and ignores what that returns.
    shortened.catch(() => undefined)
    return shortened
  }
}
