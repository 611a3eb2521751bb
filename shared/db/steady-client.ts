import { Socket } from 'node:net'
import pg from 'pg'
import { messageSocket } from './message-socket.ts'

/**
 * A connection whose loss does not end the process when nobody listens: while it is lent to a transaction, between two
 * of its statements. The next statement will tell.
 */
export class SteadyClient extends pg.Client {
  constructor(config: string | pg.ClientConfig = {}) {
    const options = typeof config === 'string' ? { connectionString: config } : config
    // With all that a pool says, also where it hides a password from whoever lists its options.
    super(Object.defineProperties({ stream: socketFor }, Object.getOwnPropertyDescriptors(options)))
    this.on('error', () => undefined)
  }
}

/** pg calls it with the options of the connection, TLS as the address and the environment want it. */
function socketFor(options?: { ssl?: unknown }): Socket {
  const isPlain = options?.ssl === undefined || options.ssl === false
  return isPlain ? messageSocket() : new Socket()
}
