import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadNetworks, parseNetworks } from '../../../../shared/config/config.ts'
import { networkKey } from '../../../../shared/config/networks.ts'
import { mistake } from '../../../helpers/config-mistake.ts'

const ADDRESS = '0x5FbDB2315678afecb367f032d93F642f64180aa3'

function evm(change: object = {}): object {
  return {
    blockchain: 'ETH',
    networkId: '1',
    rpcUrls: ['http://127.0.0.1:8545'],
    erc20Loans: { address: ADDRESS },
    ...change,
  }
}

const parse = (json: unknown, environment: Record<string, string> = {}) =>
  parseNetworks(json, 'n.json', environment)

const FIL = { networkId: 'testnet', rpcUrls: ['http://127.0.0.1:1234/rpc/v1'] }

void t.test('a network of one contract, and the defaults', (t) => {
  const [network] = parse({ evm: [evm()] }).evm
  t.strictSame(network, {
    blockchain: 'ETH',
    networkId: '1',
    rpcUrls: ['http://127.0.0.1:8545'],
    wsUrl: null,
    confirmations: 0,
    maxBlockRange: 2000,
    pollIntervalMs: 1000,
    erc20Loans: { address: ADDRESS, startBlock: 0, idPrefix: null },
  })
  t.equal(networkKey({ networkId: '1' }), 'evm:1')
  t.end()
})

void t.test('a block explorer has an address for hashes, for accounts, or for both', (t) => {
  const transaction = 'https://a.example/tx/{transaction}?tab=logs#top'
  t.same(parse({ evm: [evm({ explorer: { transaction } })] }).evm[0]?.explorer, {
    transaction,
    address: null,
  })
  const address = 'https://a.example:8443/{address}'
  t.same(parse({ filecoin: [{ ...FIL, explorer: { address } }] }).filecoin[0]?.explorer, {
    transaction: null,
    address,
  })
  t.end()
})

void t.test('each mistake names its place', (t) => {
  const cases: [place: string, json: unknown, says?: RegExp][] = [
    ['evm.0.networkId', { evm: [evm({ networkId: '0x1' })] }, /chain id as decimal text/],
    ['evm.0.networkId', { evm: [evm({ networkId: 1 })] }],
    ['evm.0.networkId', { evm: [evm({ networkId: '0' })] }],
    ['evm.0.blockchain', { evm: [evm({ blockchain: '' })] }],
    ['evm.0.rpcUrls', { evm: [evm({ rpcUrls: [] })] }, /at least one URL/],
    ['evm.0.rpcUrls.1', { evm: [evm({ rpcUrls: ['http://a', 'ws://b'] })] }, /http:\/\/ or https:\/\//],
    ['evm.0.wsUrl', { evm: [evm({ wsUrl: 'http://a' })] }, /ws:\/\/ or wss:\/\//],
    ['evm.0.confirmations', { evm: [evm({ confirmations: -1 })] }],
    ['evm.0.maxBlockRange', { evm: [evm({ maxBlockRange: 0 })] }],
    ['evm.0.pollIntervalMs', { evm: [evm({ pollIntervalMs: 1 })] }],
    ['evm.0.erc20Loans.address', { evm: [evm({ erc20Loans: { address: '0x12' } })] }, /40 hex digits/],
    ['evm.0.erc20Loans.startBlock', { evm: [evm({ erc20Loans: { address: ADDRESS, startBlock: -1 } })] }],
    ['evm.0.erc20Loans.idPrefix', { evm: [evm({ erc20Loans: { address: ADDRESS, idPrefix: '7-' } })] }],
    ['evm.0', { evm: [evm({ confirmation: 3 })] }, /confirmation/],
    [
      'evm.0.rpcUrls',
      { evm: [evm({ rpcUrls: undefined, rpcUrl: ['http://a'] })] },
      /: is missing; evm\.0 has the unknown key "rpcUrl"$/,
    ],
    ['evm.0', { evm: [evm({ erc20Loans: undefined })] }, /neither erc20Loans nor erc20CollateralLock/],
    ['evm.0', { evm: [evm({ erc20CollateralLock: { address: ADDRESS } })] }, /have the same address/],
    ['evm.1.networkId', { evm: [evm(), evm({ networkId: '' })] }],
    ['evm', { evm: [evm(), evm()] }, /the chain 1 is listed again: give that deployment an idPrefix/],
    ['evm', { evm: [evm(), evm({ networkId: '5' })] }, /two deployments of erc20Loans have no idPrefix/],
    ...[
      'http://a.example/{transaction}',
      'javascript:alert(1)//{transaction}',
      'https://{transaction}.example/',
      'https://user:secret@a.example/{transaction}',
      'a.example/{transaction}',
    ].map((transaction): [string, unknown, RegExp] => [
      'evm.0.explorer.transaction',
      { evm: [evm({ explorer: { transaction } })] },
      /must be an https:\/\/ URL$/,
    ]),
    [
      'filecoin.0.explorer.address',
      { filecoin: [{ ...FIL, explorer: { address: 'https://a.example/{transaction}' } }] },
      /must have \{address\} in it, once$/,
    ],
    ['evm.0.explorer', { evm: [evm({ explorer: { tx: 'https://a.example/{transaction}' } })] }, /"tx"/],
    ['evm', { evm: 'all' }],
    ['filecoin.0.networkId', { filecoin: [{ rpcUrls: ['http://a'] }] }],
    ['filecoin', { filecoin: [FIL, FIL] }, /two networks have the networkId testnet/],
    ['filecoin.0.rpcUrls', { filecoin: [{ networkId: 'testnet', rpcUrls: [] }] }, /at least one URL/],
  ]
  for (const [place, json, says] of cases) {
    const message = mistake(() => parse(json))
    t.ok(message.startsWith(`NETWORKS_FILE n.json: ${place}: `), message)
    if (says !== undefined) t.match(message, says)
    t.notMatch(message, '\n')
  }
  t.match(
    mistake(() => parse({ evms: [] })),
    /^NETWORKS_FILE n\.json: .*evms/,
  )
  t.match(
    mistake(() => parse('text')),
    /^NETWORKS_FILE n\.json: /,
  )
  t.end()
})

void t.test('whatever the file says, a mistake is one short line', (t) => {
  const keys = [
    'a\0b',
    'a\nb',
    'a\u2028b',
    '\ud800',
    'x'.repeat(20_000),
    'https://rpc.example/token',
    '${TOKEN}',
  ]
  for (const key of keys) {
    t.equal(
      mistake(() => parse({ evm: [evm({ [key]: 1 })] })),
      'NETWORKS_FILE n.json: evm.0: has a key that is none of those known',
    )
  }
  const deep = JSON.parse('['.repeat(10_000) + ']'.repeat(10_000)) as unknown
  t.match(
    mistake(() => parse({ evm: deep })),
    /^NETWORKS_FILE n\.json: more than 32 levels deep$/,
  )
  t.end()
})

void t.test('two deployments may share a chain of names when their ids cannot collide', (t) => {
  const second = evm({ networkId: '5', erc20Loans: { address: ADDRESS, idPrefix: 'goerli' } })
  t.equal(parse({ evm: [evm(), second] }).evm.length, 2)
  t.match(
    mistake(() => parse({ evm: [evm(), second, evm({ ...second, networkId: '6' })] })),
    /have the idPrefix "goerli": their loan ids would collide/,
  )
  t.end()
})

void t.test('a chain may be listed again for another deployment, under a key of its own', (t) => {
  const further = (address: string, idPrefix: string): object =>
    evm({ erc20Loans: { address: `0x${address.repeat(20)}`, idPrefix } })
  const keys = (...networks: object[]): string[] => parse({ evm: networks }).evm.map(networkKey)
  t.strictSame(keys(evm()), ['evm:1'])
  t.strictSame(keys(evm(), further('22', 'b'), further('33', 'c')), ['evm:1', 'evm:1:b', 'evm:1:c'])
  t.strictSame(keys(further('22', 'b')), ['evm:1'], 'one deployment keeps the plain key, whatever its prefix')
  t.strictSame(keys(further('22', 'b'), further('33', 'c')), ['evm:1', 'evm:1:c'])
  for (const [networks, says] of [
    [[evm(), further('22', 'b'), further('33', 'b')], /two deployments on chain 1 have the idPrefix "b"/],
    [
      [evm(), evm({ erc20Loans: { address: ADDRESS, idPrefix: 'b' } })],
      /0x5Fb\S+ on chain 1 is configured twice/,
    ],
  ] as const)
    t.match(
      mistake(() => parse({ evm: networks })),
      says,
    )
  t.end()
})

void t.test('${NAME} is filled from the environment, anywhere in a string', (t) => {
  const json = { evm: [evm({ rpcUrls: ['https://${HOST}/v3/${KEY}'] })] }
  t.strictSame(parse(json, { HOST: 'rpc.example', KEY: 'k' }).evm[0]?.rpcUrls, ['https://rpc.example/v3/k'])
  for (const environment of [{ HOST: 'h' }, { HOST: 'h', KEY: '' }]) {
    t.match(
      mistake(() => parse(json, environment)),
      /^NETWORKS_FILE n\.json: \$\{KEY\} is used there, but KEY is not set$/,
    )
  }
  for (const name of ['constructor', 'toString', '__proto__']) {
    const inherited = mistake(() => parse({ evm: [evm({ rpcUrls: [`https://rpc.example/\${${name}}`] })] }))
    t.match(inherited, `but ${name} is not set`, 'what every object has is in no environment')
  }
  for (const text of ['${LOTUS-TOKEN}', '${}', 'a${KEY', '${KEY}/${ KEY }', '$${']) {
    t.match(
      mistake(() => parse({ evm: [evm()], filecoin: [{ networkId: 'testnet', token: text }] }, { KEY: 'k' })),
      /^NETWORKS_FILE n\.json: filecoin\.0\.token: a variable's name in \$\{…\} has letters, digits and _ only$/,
      text,
    )
  }
  t.equal(parse({ evm: [evm({ blockchain: '$5 {x}' })] }, {}).evm[0]?.blockchain, '$5 {x}', 'that is none')
  const nested = parse(json, { HOST: 'h', KEY: '${HOST}' }).evm[0]?.rpcUrls
  t.strictSame(nested, ['https://h/v3/${HOST}'], 'what is filled in is not filled in again')
  t.end()
})

void t.test('the file: not named, not there, not JSON, right', (t) => {
  t.match(
    mistake(() => loadNetworks(undefined)),
    /^NETWORKS_FILE is not set/,
  )
  const folder = t.testdir()
  const file = join(folder, 'networks.json')
  t.match(
    mistake(() => loadNetworks(file)),
    /^NETWORKS_FILE .*networks\.json cannot be read: ENOENT/,
  )
  writeFileSync(file, '{ "evm": [,] }')
  t.match(
    mistake(() => loadNetworks(file)),
    /^NETWORKS_FILE .*networks\.json is not JSON/,
  )
  writeFileSync(file, JSON.stringify({ evm: [evm()] }))
  t.equal(loadNetworks(file).evm.length, 1)
  t.end()
})
