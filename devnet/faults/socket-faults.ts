import type { Chance } from './fault.ts'
import type { SocketFault } from './socket-proxy.ts'

/** Faults of the messages that a node sends by WebSocket. */
export const socketFaults: Record<string, (chance: Chance) => SocketFault> = {
  'a socket that closes':
    ({ now }) =>
    () =>
      now(0.05) ? 'close' : null,
  'a socket that falls silent':
    ({ now }) =>
    () =>
      now(0.5) ? [] : null,
  'a socket that is late':
    ({ now, below }) =>
    () =>
      now(0.3) ? { afterMs: below(1500) } : null,
  'news twice':
    ({ now }) =>
    (text) =>
      now(0.3) ? [text, text] : null,
  'garbage on a socket':
    ({ now }) =>
    (text) =>
      now(0.2) ? ['<html>', '{"jsonrpc":"2.0","method":', 'null', text] : null,
}
