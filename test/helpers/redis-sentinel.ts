import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deployExample } from './deploy-example.ts'
import { freePort } from './free-port.ts'
import { eventually } from './programs.ts'
import { ServerProcess } from './server-process.ts'

export interface RedisNode {
  port: number
  process: ServerProcess
}

/** Several Redis servers and their Sentinels, with the examples of deploy/ as their configuration. */
export interface RedisGroup {
  /** A REDIS_URL. */
  url: string
  nodes: RedisNode[]
  /** As the first Sentinel names it. */
  master(): RedisNode
  /** Resolves once all servers are up, and the master has its replicas. */
  isWhole(): Promise<void>
  stop(): Promise<void>
}

const GROUP = 'loan-activity'
const LOCAL = 'bind 127.0.0.1\nprotected-mode no\n'

/** Starts a master and two replicas with three Sentinels. */
export async function startSentinelGroup(): Promise<RedisGroup> {
  const base = await newBase()
  const nodes: RedisNode[] = []
  for (let index = 0; index < 3; index += 1) {
    const first = nodes[0]?.port
    nodes.push(
      await startNode(base, (port) =>
        deployExample('redis-replicated.conf', {
          'port 6379': `port ${port}`,
          ...(first !== undefined && { '# replicaof 10.0.0.1 6379': `replicaof 127.0.0.1 ${first}` }),
        }),
      ),
    )
  }
  const [first = 0] = nodes.map(({ port }) => port)
  const sentinels: RedisNode[] = []
  for (let index = 0; index < 3; index += 1)
    sentinels.push(
      await startNode(
        base,
        (port) =>
          deployExample('redis-sentinel.conf', {
            'port 26379': `port ${port}`,
            '10.0.0.1 6379 2': `127.0.0.1 ${first} 2`,
          }),
        ['--sentinel'],
      ),
    )
  const ask = (...words: string[]): string => cli(sentinels[0]?.port ?? 0, 'sentinel', ...words)
  const master = (): RedisNode => {
    const [, port] = ask('get-master-addr-by-name', GROUP).split('\n')
    return nodeOn(nodes, Number(port))
  }
  const group: RedisGroup = {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${GROUP}`,
    nodes,
    master,
    async isWhole() {
      await eventually(
        'the master has two replicas, and each Sentinel knows them',
        () =>
          replicasOf(master().port) === 2 &&
          sentinels.every(({ port }) => /slaves=2,sentinels=3/.test(cli(port, 'info', 'sentinel'))),
        60_000,
      )
    },
    stop: () => stopAll([...sentinels, ...nodes], base),
  }
  await group.isWhole()
  return group
}

function nodeOn(nodes: readonly RedisNode[], port: number): RedisNode {
  const node = nodes.find((one) => one.port === port)
  if (node === undefined) throw new Error(`no Redis of this group is on port ${port}`)
  return node
}

function replicasOf(port: number): number {
  const about = cli(port, 'info', 'replication')
  if (!about.includes('role:master')) return -1
  return about.match(/state=online/g)?.length ?? 0
}

/** Returns an empty text if nothing answers. */
function cli(port: number, ...words: string[]): string {
  try {
    const [command, options] = ['redis-cli', { encoding: 'utf8', stdio: 'pipe', timeout: 2_000 } as const]
    return execFileSync(command, ['-p', `${port}`, ...words], options)
  } catch {
    return ''
  }
}

function newBase(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'loan-activity-redis-group-'))
}

async function startNode(
  base: string,
  configuration: (port: number) => string,
  flags: string[] = [],
): Promise<RedisNode> {
  const port = await freePort()
  const folder = join(base, `${port}`)
  await mkdir(folder)
  // Sentinel rewrites its own file, and those of the servers.
  const file = join(folder, 'redis.conf')
  await writeFile(file, `${configuration(port)}${LOCAL}dir ${folder}\n`)
  const process = new ServerProcess('redis-server', [file, ...flags])
  process.start()
  await eventually(`Redis answers on ${port}`, () => cli(port, 'ping').startsWith('PONG'))
  return { port, process }
}

async function stopAll(nodes: readonly RedisNode[], base: string): Promise<void> {
  await Promise.all(nodes.map(({ process }) => process.kill()))
  await rm(base, { recursive: true, force: true })
}
