import { randomUUID } from 'node:crypto'
import type { Command } from 'ioredis'
import * as z from 'zod'
import { withoutPolicy, type ReplyFilter } from './queue-redis.ts'

/**
 * BullMQ parses a job as soon as its data arrive. These hooks of the drivers see its text before. They replace a text that is
 * too long, has too many parts or is no JSON by a short note. The handler refuses the note like other garbage.
 */

/** Objects, arrays and members in a job's JSON. A step of 16 KiB, the largest that travels as JSON, has fewer. */
const MOST_PARTS = 20_000
/** Characters kept of data that were not read. */
const BEGINNING = 1_000
/** Characters of a job's options. */
const MOST_OPTIONS = 1_000
/** Characters of a field of a job that is shown, such as its stack. */
const MOST_SHOWN = 32 * 1024
/** Characters of a job's name. */
const MOST_NAME = 200

/** Random, so that no job can pretend to be such a note. */
const NOTE = `unread-${randomUUID()}`

/** Replaces data that were not parsed. */
export interface UnreadData {
  reason: string
  characters: number
  beginning: string
}

/** The note that replaced the data; undefined if they were parsed. */
export function unreadData(data: unknown): UnreadData | undefined {
  if (typeof data !== 'object' || data === null || !Object.hasOwn(data, NOTE)) return undefined
  return (data as Record<string, UnreadData>)[NOTE]
}

function noteOf(text: string, reason: string): Record<string, UnreadData> {
  return { [NOTE]: { reason, characters: text.length, beginning: text.slice(0, BEGINNING) } }
}

/** Why a text must not be parsed; undefined where it may be. */
function whyUnparsed(text: string, mostCharacters: number): string | undefined {
  if (text.length > mostCharacters)
    return `it has ${text.length} characters: at most ${mostCharacters} are read`
  let parts = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    // [ { and the comma also count within strings: a bound needs no grammar.
    if (code !== 0x5b && code !== 0x7b && code !== 0x2c) continue
    parts += 1
    if (parts > MOST_PARTS) return `it has more than ${MOST_PARTS} parts`
  }
  return undefined
}

/** Parses JSON that comes from Postgres, within bounds. */
export function parseBounded(text: string, mostCharacters: number): unknown {
  const reason = whyUnparsed(text, mostCharacters)
  return reason === undefined ? JSON.parse(text) : noteOf(text, reason)
}

/** Bounds the jobs that a script of BullMQ's returns, and events. */
export function boundedReplies(mostCharacters: number): ReplyFilter {
  return (command, reply) => {
    const bound = isScript(command) ? boundedReply : BOUNDS[command.name]
    return bound === undefined
      ? withoutPolicy(command, reply)
      : reply.then((value: unknown) => bound(value, mostCharacters))
  }
}

/** A job that was asked for by its id. Other fields than the data are dropped where they are long. */
function boundedHash(reply: unknown, mostCharacters: number): unknown {
  if (typeof reply !== 'object' || reply === null) return reply
  const bounded = Object.entries(reply as Record<string, unknown>).flatMap(([field, value]) => {
    const text = String(value)
    if (field === 'data') return [[field, boundedText(text, mostCharacters)]]
    return text.length > MOST_SHOWN ? [] : [[field, text]]
  })
  return Object.fromEntries(bounded) as unknown
}

/** Events are [stream, [id, [field, value, …]]]. Drops those with a long field, or a result that is no JSON. */
function boundedEvents(reply: unknown, mostCharacters: number): unknown {
  if (!Array.isArray(reply)) return reply
  return (reply as [unknown, [unknown, unknown[]][]][]).map(([stream, events]) => [
    stream,
    events.map(([id, fields]) => [id, isReadable(fields.map(String), mostCharacters) ? fields : []]),
  ])
}

/** The bound of each command that returns what others may have written. */
const BOUNDS: Record<string, ((reply: unknown, mostCharacters: number) => unknown) | undefined> = {
  xread: boundedEvents,
  hgetall: boundedHash,
}

function isReadable(fields: string[], mostCharacters: number): boolean {
  if (fields.some((field) => field.length > mostCharacters)) return false
  const json = ['returnvalue', 'data'].flatMap((name) => {
    const at = fields.indexOf(name)
    return at < 0 ? [] : [fields[at + 1] ?? '']
  })
  return json.every((text) => whyUnparsed(text, mostCharacters) === undefined && isJson(text))
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function isScript({ name }: Command): boolean {
  return name === 'evalsha' || name === 'eval'
}

/** A script that takes the next job returns its hash as field, value, field … before its id and two times. */
function boundedReply(reply: unknown, mostCharacters: number): unknown {
  if (!Array.isArray(reply) || reply.length !== 4 || !Array.isArray(reply[0])) return reply
  return [boundedFields(reply[0] as unknown[], mostCharacters), ...(reply.slice(1) as unknown[])]
}

/**
 * The fields of a job that a worker reads, by BullMQ's names. Others are dropped: a worker would act on a parent or a schedule
 * that a stranger gave a job. The options keep attempts and backoff alone.
 */
const FIELDS = new Set(['name', 'data', 'timestamp', 'processedOn', 'ats', 'atm', 'stc', 'defa'])

function boundedFields(fields: unknown[], mostCharacters: number): unknown[] {
  const bounded: unknown[] = []
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [field, value] = [String(fields[at]), String(fields[at + 1])]
    if (field === 'opts') bounded.push(field, boundedOptions(value))
    if (!FIELDS.has(field)) continue
    bounded.push(field, field === 'data' ? boundedText(value, mostCharacters) : value.slice(0, MOST_NAME))
  }
  return bounded
}

function boundedText(text: string, mostCharacters: number): string {
  const reason = whyUnparsed(text, mostCharacters)
  if (reason !== undefined) return JSON.stringify(noteOf(text, reason))
  return isJson(text) ? text : JSON.stringify(noteOf(text, 'it is not JSON'))
}

/** Those of steps and of webhooks. */
const triesSchema = z.object({
  attempts: z.int().min(1).max(12),
  backoff: z.object({
    type: z.enum(['fixed', 'exponential']),
    delay: z.int().min(0).max(60_000),
    jitter: z.number().min(0).max(1).optional(),
  }),
})

function boundedOptions(text: string): string {
  if (text.length > MOST_OPTIONS || !isJson(text)) return '{}'
  const tries = triesSchema.safeParse(JSON.parse(text))
  return tries.success ? JSON.stringify(tries.data) : '{}'
}
