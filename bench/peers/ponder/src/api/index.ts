import { Hono } from 'hono'

/** Ponder does not start without such a file; the benchmark uses only Ponder's own /ready. */
export default new Hono()
