import { Hono } from 'hono'

/** Ponder does not start without a file like this; nothing is asked of it but its own /ready. */
export default new Hono()
