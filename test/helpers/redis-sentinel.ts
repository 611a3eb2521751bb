import { deployExample } from './deploy-example.ts'
import { eventually } from './programs.ts'
import {
  newBase,
  nodeOn,
  redisCli,
  replicasOf,
  startNode,
  stopAll,
  type RedisGroup,
  type RedisNode,
} from './redis-group.ts'

export interface SentinelGroup extends RedisGroup {
  /** As the first Sentinel names it. */
  master(): RedisNode
}

const GROUP = 'loan-activity'

/** Starts a master and two replicas with three Sentinels. */
export async function startSentinelGroup(): Promise<SentinelGroup> {
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
  const ask = (...words: string[]): string => redisCli(sentinels[0]?.port ?? 0, 'sentinel', ...words)
  const master = (): RedisNode => {
    const [, port] = ask('get-master-addr-by-name', GROUP).split('\n')
    return nodeOn(nodes, Number(port))
  }
  const group: SentinelGroup = {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${GROUP}`,
    nodes,
    master,
    async isWhole() {
      await eventually(
        'the master has two replicas, and each Sentinel knows them',
        () =>
          replicasOf(master().port) === 2 &&
          sentinels.every(({ port }) => /slaves=2,sentinels=3/.test(redisCli(port, 'info', 'sentinel'))),
        60_000,
      )
    },
    stop: () => stopAll([...sentinels, ...nodes], base),
  }
  await group.isWhole()
  return group
}
