import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import * as z from 'zod'
import { claimPort } from '../../../devnet/evm/claim-port.ts'
import { processIdentity } from '../../../devnet/evm/process-identity.ts'
import { createRpc, quantity } from '../../../devnet/evm/rpc.ts'
import { networksSchema } from '../../../shared/config/networks.ts'

const program = fileURLToPath(new URL('../../../devnet/main.ts', import.meta.url))

interface Devnet {
  child: ChildProcess
  output(): string
  ready: Promise<unknown>
  ended: Promise<number | null>
}

function startDevnet(...args: string[]): Devnet {
  const child = fork(program, args, { execArgv: ['--import', 'tsx', '--no-warnings'], silent: true })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
  const ended = once(child, 'exit').then(() => child.exitCode)
  return { child, output: () => text, ready: once(child, 'message'), ended }
}

function anvilPid(dataDir: string): number {
  const schema = z.object({ anvil: z.object({ pid: z.number() }) })
  return schema.parse(JSON.parse(readFileSync(join(dataDir, 'anvil.json.pid'), 'utf8'))).anvil.pid
}

async function gone(pid: number): Promise<boolean> {
  for (let waited = 0; waited < 60_000; waited += 50) {
    if (processIdentity(pid) === undefined) return true
    await sleep(50)
  }
  return false
}

/** Ends whatever a failed test left behind. */
function endAfter(devnet: Devnet): Devnet {
  t.teardown(() => devnet.child.kill('SIGKILL'))
  return devnet
}

const lines = (devnet: Devnet): string[] => devnet.output().trim().split('\n')

await t.test(
  'a whole life: ready, refusals beside it, Ctrl-C, SIGKILL, and the end of its parent',
  async (t) => {
    const dataDir = join(t.testdir(), 'data')
    const networksFile = join(dataDir, 'networks.json')
    const port = await claimPort(0)
    const flags = [
      '--port',
      String(port),
      '--filecoin-port',
      '0',
      '--data-dir',
      dataDir,
      '--networks-file',
      networksFile,
    ]
    const url = `http://127.0.0.1:${port}`
    const height = () => createRpc(url).call(quantity, 'eth_blockNumber')

    const first = endAfter(startDevnet(...flags))
    await first.ready
    t.match(lines(first), [new RegExp(`^devnet ready at ${url}: ERC20Loans 0x`)])
    const networks = networksSchema.parse(JSON.parse(readFileSync(networksFile, 'utf8')))
    t.same([networks.evm[0]?.networkId, networks.evm[0]?.rpcUrls], ['31337', [url]])

    await t.test('two more that cannot run say so in one line', async (t) => {
      const samePort = endAfter(
        startDevnet('--port', String(port), '--filecoin-port', '0', '--data-dir', join(dataDir, 'other')),
      )
      const sameData = endAfter(startDevnet('--port', '0', '--filecoin-port', '0', '--data-dir', dataDir))
      t.same([await samePort.ended, await sameData.ended], [1, 1])
      t.match(lines(samePort), [/^devnet: port \d+ on 127.0.0.1 is in use/])
      t.match(lines(sameData), [/^devnet: another devnet \(process \d+\) runs on this data/])
      t.equal(lines(samePort).length + lines(sameData).length, 2)
    })

    const firstAnvil = anvilPid(dataDir)
    const before = await height()
    first.child.kill('SIGINT')
    t.equal(await first.ended, 0)
    t.equal(processIdentity(firstAnvil), undefined, 'it took anvil with it')

    const second = endAfter(startDevnet(...flags))
    await second.ready
    t.ok((await height()) >= before, 'the chain goes on where it was')
    const secondAnvil = anvilPid(dataDir)
    second.child.kill('SIGKILL')
    await second.ended
    const third = endAfter(startDevnet(...flags))
    await third.ready
    t.ok(await gone(secondAnvil), 'an anvil without its devnet does not stay')
    t.ok((await height()) >= before)

    const thirdAnvil = anvilPid(dataDir)
    third.child.disconnect()
    t.equal(await third.ended, 0, 'it stops when its parent is gone')
    t.ok(await gone(thirdAnvil))
  },
)

await t.test('flags that are wrong', async (t) => {
  const wrong: [string[], RegExp][] = [
    [['--port', '99999'], /^devnet: --port must be a whole number from 0 to 65535, not "99999"$/],
    [['--pace', 'fast'], /^devnet: --pace must be a number/],
    [['--prot', '1'], /^devnet: Unknown option '--prot'/],
  ]
  const runs = wrong.map(([args]) => endAfter(startDevnet(...args)))
  for (const [index, run] of runs.entries()) {
    t.equal(await run.ended, 2)
    t.match(run.output().trim(), wrong[index]?.[1])
    t.equal(lines(run).length, 1)
  }
})
