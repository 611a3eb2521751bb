import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { PermanentError } from '../../../shared/errors.ts'
import { startProxy } from './faulty-proxy.ts'
import { startLittleChain } from './little-chain.ts'

t.setTimeout(120_000)

void t.test('a node that names another chain for a while is read again afterwards', async (t) => {
  const chain = await startLittleChain(t)
  const proxy = await startProxy(t, chain.url)
  const source = createEvmSource(chain.network({ rpcUrls: [proxy.url] }))
  t.teardown(() => source.close())
  const isRight = async (): Promise<boolean> =>
    source.head().then(
      () => true,
      (error: unknown) => {
        t.notOk(error instanceof PermanentError, String(error))
        return false
      },
    )
  await source.check()
  // A fault has its chain verified again.
  proxy.fault = (requests) => requests.map(({ id }) => ({ id, result: '0x1' }))
  const said: string[] = []
  while (!said.join().includes('wrong chain id') && said.length < 20)
    await source.check().catch((error: unknown) => said.push(String(error)))
  t.match(said.at(-1), /wrong chain id: expected 31337, found 1 /)
  t.notOk(await isRight())
  proxy.fault = () => null
  const honestMs = performance.now()
  while (!(await isRight()) && performance.now() < honestMs + 15_000) await pause(100)
  t.ok(await isRight(), 'it is read again')
  t.comment(`after ${Math.round(performance.now() - honestMs)} ms`)
})
