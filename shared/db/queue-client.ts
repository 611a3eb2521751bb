import pg from 'pg'
import { SessionClient } from './session-client.ts'
import { writingIn } from './session.ts'

/** The schema of BullMQ's tables. */
const SCHEMA = 'queue'

/** The class of BullMQ's connections; BullMQ passes the connection settings itself. */
export class QueueClient extends SessionClient {
  constructor(config: pg.ClientConfig = {}) {
    super(config, writingIn(SCHEMA))
  }
}

/** The settings name the class of its connections. */
export function openQueuePool(settings: pg.PoolConfig): pg.Pool {
  return new pg.Pool(settings)
}
