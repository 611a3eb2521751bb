import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { KeepAliveClient, openPipeliners } from '../test/helpers/raw-http.ts'
import { SEEDED_ID_STEP } from '../test/helpers/seed-projection.ts'
import { percentile } from './measure.ts'

/** Load on the API from a process of its own. `from` is the local address, which makes it another client. */
export type Attack =
  | {
      kind: 'pipeline'
      port: number
      sockets: number
      path: string
      reads: boolean
      forever: boolean
      from: string
    }
  | { kind: 'rate'; port: number; sockets: number; perSecond: number; records: number; from: string }
  | {
      kind: 'hold'
      port: number
      sockets: number
      text: string
      /** Bytes sent one a second after `text`; empty: the sockets stay silent. */
      drip: string
      from: string
    }

type Rate = Extract<Attack, { kind: 'rate' }>

/** The result of requests at a fixed rate. */
export interface RateResult {
  asked: number
  accepted: number
  refused: number
  broken: number
  acceptedP99Ms: number
}

/** Runs until the parent sends any message, then sends the result and exits. */
export async function attack(plan: Attack): Promise<void> {
  let isOver = false
  const over = new Promise<void>((resolve) =>
    process.once('message', () => {
      isOver = true
      resolve()
    }),
  )
  process.once('disconnect', () => process.exit())
  let result: RateResult | null = null
  if (plan.kind === 'rate') {
    const clients = await openClients(plan)
    process.send?.('started')
    result = await atRate(plan, clients, () => isOver)
  } else {
    const close = plan.kind === 'pipeline' ? openPipeliners(plan.port, plan).close : hold(plan)
    process.send?.('started')
    await over
    close()
  }
  process.send?.({ result }, () => process.exit())
}

/** A page that the API does not keep. */
function uncached(records: number): string {
  return `/api/activity?limit=50&before=${Math.ceil(Math.random() * records) * SEEDED_ID_STEP}`
}

/** Opens a few at a time: a full queue of new connections would cost a second each. */
async function openClients({ sockets, port, from }: Rate): Promise<KeepAliveClient[]> {
  const clients = Array.from({ length: sockets }, () => new KeepAliveClient(port, from))
  for (let first = 0; first < sockets; first += 50) {
    await Promise.all(clients.slice(first, first + 50).map((client) => client.get('/healthz')))
  }
  return clients
}

/** Each connection sends at its turn, whether or not others were answered; a busy connection skips its turn. */
async function atRate(
  { perSecond, records }: Rate,
  idle: KeepAliveClient[],
  isOver: () => boolean,
): Promise<RateResult> {
  const result = { asked: 0, accepted: 0, refused: 0, broken: 0 }
  const times: number[] = []
  const ask = async (client: KeepAliveClient): Promise<void> => {
    result.asked += 1
    try {
      const { status, milliseconds } = await client.get(uncached(records))
      if (status === 200) {
        result.accepted += 1
        times.push(milliseconds)
      } else result.refused += 1
    } catch {
      result.broken += 1
    }
    idle.push(client)
  }
  const startedMs = performance.now()
  let due = 0
  while (!isOver()) {
    const wanted = ((performance.now() - startedMs) / 1000) * perSecond
    for (; due < wanted; due += 1) {
      const client = idle.shift()
      if (client !== undefined) void ask(client)
    }
    await delay(2)
  }
  return { ...result, acceptedP99Ms: percentile(times, 99) }
}

function hold({ port, sockets, text, drip, from }: Extract<Attack, { kind: 'hold' }>): () => void {
  let isOpen = true
  const open = new Set<Socket>()
  const openOne = (): void => {
    if (!isOpen) return
    const socket = connect({ port, host: '127.0.0.1', localAddress: from })
    open.add(socket)
    socket.once('connect', () => socket.write(text))
    socket.on('error', () => undefined)
    socket.once('close', () => {
      open.delete(socket)
      setTimeout(openOne, 500)
    })
  }
  for (let number = 0; number < sockets; number += 1) openOne()
  const timer = setInterval(() => {
    if (drip !== '') for (const socket of open) if (socket.writable) socket.write(drip)
  }, 1000)
  return () => {
    isOpen = false
    clearInterval(timer)
    for (const socket of open) socket.destroy()
  }
}
