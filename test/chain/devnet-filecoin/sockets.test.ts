import { once } from 'node:events'
import { test, type Test } from 'tap'
import { WebSocket } from 'ws'
import { openLotus } from './lotus-chain.ts'

interface Change {
  Type: string
  Val: { Height: number }
}
type Told = { id?: unknown; result?: unknown; method?: string; params?: [number, Change[]] }

/** A client that keeps what it is told, and hands it out in order. */
async function connect(t: Test, url: string) {
  const socket = new WebSocket(url)
  t.teardown(() => socket.terminate())
  const told: Told[] = []
  const waiting: ((message: Told) => void)[] = []
  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString('utf8')) as Told
    const next = waiting.shift()
    if (next === undefined) told.push(message)
    else next(message)
  })
  await once(socket, 'open')
  return {
    socket,
    ask: (id: number, method: string, ...params: unknown[]) =>
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params })),
    next: () => {
      const known = told.shift()
      return known === undefined
        ? new Promise<Told>((resolve) => waiting.push(resolve))
        : Promise.resolve(known)
    },
  }
}

const heights = ({ params }: Told) => params?.[1].map(({ Type, Val }) => [Type, Val.Height])

test('a subscription: its channel, the current head, applies and reverts; then it ends', async (t) => {
  const { wsUrl, chain } = await openLotus(t)
  await chain.mine(3)
  const { ask, next } = await connect(t, wsUrl)
  ask(1, 'Filecoin.ChainNotify')
  t.strictSame(await next(), { id: 1, jsonrpc: '2.0', result: 1 })
  const current = await next()
  t.match(current, { method: 'xrpc.ch.val', params: [1] })
  t.strictSame(heights(current), [['current', 3]])
  await chain.mine(1)
  t.strictSame(heights(await next()), [['apply', 4]])
  chain.widen()
  t.strictSame(heights(await next()), [
    ['revert', 4],
    ['apply', 4],
  ])
  chain.reorg(2, { nullRounds: 0 })
  t.strictSame(heights(await next()), [
    ['revert', 4],
    ['revert', 3],
    ['apply', 3],
    ['apply', 4],
  ])
  ask(2, 'Filecoin.StateNetworkName')
  t.match(await next(), { id: 2, result: 'devnet-2k' })
  ask(3, 'Filecoin.ChainNotify')
  t.match([await next(), heights(await next())], [{ id: 3, result: 2 }, [['current', 4]]])
  ask(4, 'xrpc.cancel', 1)
  t.strictSame(await next(), { jsonrpc: '2.0', method: 'xrpc.ch.close', params: [1] })
  await chain.mine(1)
  t.match(await next(), { params: [2] })
})

test('a reader that falls behind is dropped', async (t) => {
  const { wsUrl, chain } = await openLotus(t)
  const { socket, ask, next } = await connect(t, wsUrl)
  ask(1, 'Filecoin.ChainNotify')
  await next()
  const closed = once(socket, 'close')
  socket.pause()
  for (let mined = 0; mined < 200_000 && chain.watchers > 0; mined += 500) await chain.mine(500)
  socket.resume()
  await closed
  t.equal(chain.watchers, 0)
})

test('who may connect', async (t) => {
  const { wsUrl } = await openLotus(t, { token: 'secret' })
  const refused = new WebSocket(wsUrl)
  const [error] = (await once(refused, 'error')) as [Error]
  t.match(error.message, /401/)
  const { ask, next } = await connect(t, `${wsUrl}?token=secret`)
  ask(1, 'Filecoin.StateNetworkName')
  t.match(await next(), { result: 'devnet-2k' })
  const elsewhere = new WebSocket(wsUrl.replace('/rpc/v1', '/other'))
  const [notFound] = (await once(elsewhere, 'error')) as [Error]
  t.match(notFound.message, /401|404/)
})
