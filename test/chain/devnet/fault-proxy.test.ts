import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { startAnvil } from '../../../devnet/evm/anvil.ts'
import { anything, createRpc } from '../../../devnet/evm/rpc.ts'
import { startFaultProxy, type FaultProxy } from '../../../devnet/faults/fault-proxy.ts'
import { bringWeather, evmFaults, lotusFaults } from '../../../devnet/faults/weather.ts'
import { startLotus } from '../../../devnet/filecoin/lotus.ts'
import { runScript } from '../../helpers/programs.ts'

t.setTimeout(400_000)

async function proxyBefore(t: Test, target: string): Promise<FaultProxy> {
  const proxy = await startFaultProxy(target)
  t.teardown(() => proxy.stop())
  return proxy
}

/** Subscribed to a node's new heads; what it is told is kept. */
async function subscriber(t: Test, url: string, method: string, params: string[]) {
  const socket = new WebSocket(url)
  t.teardown(() => socket.terminate())
  const told: string[] = []
  socket.on('message', (data) => told.push((data as Buffer).toString('utf8')))
  await once(socket, 'open')
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
  await until(() => told.length > 0)
  return { socket, told }
}

async function until(condition: () => boolean): Promise<void> {
  for (const since = Date.now(); !condition();) {
    if (Date.now() > since + 10_000) throw new Error('waited in vain')
    await sleep(10)
  }
}

void t.test('a proxy without faults changes nothing; each fault is counted by its kind', async (t) => {
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const proxy = await proxyBefore(t, anvil.url)
  const weather = bringWeather(proxy, evmFaults, { seed: 'one', severity: 100 })
  const [true_, through] = [createRpc(anvil.url), createRpc(proxy.url)]
  const genesis = ['eth_getBlockByNumber', '0x0', false] as const
  t.same(await through.call(anything, ...genesis), await true_.call(anything, ...genesis))
  t.equal(proxy.faults, 0)
  weather.set(['HTML as if all were well'])
  for (let times = 0; times < 40; times += 1) await through.call(anything, ...genesis).catch(() => undefined)
  t.equal(weather.counts.get('HTML as if all were well'), proxy.faults)
  t.ok(proxy.faults > 10 && proxy.faults < 40, 'by chance')
  weather.set(['time-outs'])
  const asked = Array.from({ length: 20 }, () => through.call(anything, ...genesis).catch(() => 'cut off'))
  await until(() => (weather.counts.get('time-outs') ?? 0) > 3)
  weather.clear()
  t.ok((await Promise.all(asked)).includes('cut off'), 'what hangs ends with the fault')
  t.throws(() => weather.set(['bad luck']), /there is no fault "bad luck"/)
})

void t.test('sockets of both chains go through, fall silent and close', async (t) => {
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const lotus = await startLotus({ tickMs: null, seed: 'sockets' })
  t.teardown(() => lotus.stop())
  const mineOnAnvil = (): Promise<unknown> => createRpc(anvil.url).call(anything, 'anvil_mine', '0x1')
  for (const [node, catalogue, method, params, mine] of [
    [anvil, evmFaults, 'eth_subscribe', ['newHeads'], mineOnAnvil],
    [lotus, lotusFaults, 'Filecoin.ChainNotify', [], () => lotus.chain.mine()],
  ] as const) {
    const proxy = await proxyBefore(t, node.url)
    const weather = bringWeather(proxy, catalogue, { seed: 'two', severity: 100 })
    const { socket, told } = await subscriber(t, proxy.wsUrl, method, [...params])
    const untilMined = async (kind: string): Promise<void> => {
      while (!weather.counts.has(kind)) {
        await mine()
        await sleep(5)
      }
    }
    const before = told.length
    await mine()
    await until(() => told.length > before)
    weather.set(['news twice'])
    await untilMined('news twice')
    await until(() => new Set(told).size < told.length)
    weather.set(['a socket that closes'])
    const closed = once(socket, 'close')
    await untilMined('a socket that closes')
    await closed
    t.pass(method)
  }
})

void t.test('by hand', async (t) => {
  const lotus = await startLotus({ tickMs: null, seed: 'by hand' })
  t.teardown(() => lotus.stop())
  const flags = ['--target', lotus.url, '--chain', 'filecoin', '--fault', 'an empty body']
  const program = runScript('devnet/faults/main.ts', flags, {})
  const [, url = ''] = await program.printed(/: (http:\/\/127\.0\.0\.1:\d+\/rpc\/v1) and ws:/)
  const request = { jsonrpc: '2.0', id: 1, method: 'Filecoin.ChainHead', params: [] }
  const ask = async (): Promise<string> =>
    (await fetch(url, { method: 'POST', body: JSON.stringify(request) })).text()
  const answers = await Promise.all(Array.from({ length: 300 }, ask))
  t.ok(answers.includes(''), 'sometimes empty')
  t.match(
    answers.find((answer) => answer !== ''),
    /"Height":0/,
    'otherwise true',
  )
  program.signal('SIGINT')
  t.same(await program.ended, { code: 0, signal: null })
  const empty = answers.filter((answer) => answer === '').length
  t.match(
    program.stdout(),
    new RegExp(`${empty} of 300 requests were not answered truly\\n +${empty} +an empty body`),
  )
  for (const [wrong, complaint] of [
    [['--target', 'nowhere'], /--target must be/],
    [['--target', lotus.url, '--fault', 'bad luck'], /there is no kind "bad luck"/],
  ] as const) {
    const refused = runScript('devnet/faults/main.ts', [...wrong], {})
    t.same(await refused.ended, { code: 2, signal: null })
    t.match(refused.stderr(), complaint)
  }
})
