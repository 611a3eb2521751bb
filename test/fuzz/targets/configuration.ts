import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadEnvironment, loadNetworks, parseNetworks } from '../../../shared/config/config.ts'
import { filecoinNetworkKey, networkKey, type Networks } from '../../../shared/config/networks.ts'
import { ConfigError } from '../../../shared/errors.ts'
import { endpointLabel } from '../../../shared/log.ts'
import { MILLION, must, shown, type FuzzTarget, type Outcome } from '../fuzz-target.ts'
import { hostileText, mutatedText } from '../hostile-text.ts'
import { jsonLike, jsonSample } from '../mutate-json.ts'
import type { FuzzRandom } from '../random.ts'

const TOKEN = 'S3CR3T'

/**
 * Returns a configuration, or null after checking that the error is one line that names the mistake and shows no token.
 */
function orOneLine<T>(load: () => T): T | null {
  try {
    return load()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    must(!/[\n\r\u2028\u2029\0]/.test(error.message), `one line: ${JSON.stringify(error.message)}`)
    must(error.message.length < 1_000, `a line of ${error.message.length} characters`)
    must(!error.message.includes(TOKEN), `no token: ${error.message}`)
    return null
  }
}

const VARIABLES: Record<string, readonly string[]> = {
  DATABASE_URL: [`postgres://user:${TOKEN}@db.example:5432/loans`, 'postgresql://db.example/loans'],
  READ_DATABASE_URL: [`postgres://user:${TOKEN}@replica.example/loans?sslmode=require`],
  REDIS_URL: [`redis://:${TOKEN}@redis.example:6379/2`, 'rediss://redis.example'],
  NETWORKS_FILE: ['networks.json'],
  INDEXER_ROLE: ['all', 'reader', 'writer'],
  API_HOST: ['127.0.0.1', '::'],
  API_PORT: ['3000', '0', '65535'],
  INDEXER_HOST: ['localhost'],
  INDEXER_PORT: ['3001'],
  LOG_LEVEL: ['info', 'silent'],
  DATA_DIR: ['.data'],
}

function environmentLike(random: FuzzRandom): Record<string, string> {
  const source: Record<string, string> = {}
  for (const [name, values] of Object.entries(VARIABLES)) {
    if (random.chance(0.4)) continue
    let value = random.pick(values)
    if (random.chance(0.1)) value = random.chance(0.5) ? hostileText(random) : mutatedText(random, value)
    source[name] = value
  }
  if (random.chance(0.1)) source[hostileText(random)] = hostileText(random)
  return source
}

const environment: FuzzTarget = {
  name: 'environment',
  about: 'environment variables: a configuration, or one line without tokens',
  cases: MILLION,
  quickCases: 1_000,
  open: () => ({
    make: (random) => {
      const source = environmentLike(random)
      const feed = (): Outcome => {
        const found = orOneLine(() => loadEnvironment(source))
        if (found === null) return 'refused'
        must(found.API_PORT >= 0 && found.API_PORT <= 65_535, 'a port')
        return 'taken'
      }
      return { feed, show: () => shown(source) }
    },
  }),
}

const FILECOIN = {
  networkId: 'testnet',
  rpcUrls: [`http://u:${TOKEN}@127.0.0.1:1234/rpc/v1`],
  token: '${HOME_TOKEN}',
  startEpoch: 0,
  confidence: 5,
  pollIntervalMs: 5000,
  readVoucherStore: true,
}
const EVM = {
  blockchain: 'ETH',
  networkId: '1',
  rpcUrls: [`https://rpc.example/v3/${TOKEN}`, 'https://rpc.example/${HOME_TOKEN}?key=${HOME_TOKEN}'],
  wsUrl: `wss://rpc.example/${TOKEN}`,
  confirmations: 0,
  maxBlockRange: 2000,
  pollIntervalMs: 1000,
  erc20Loans: { address: `0x${'1a'.repeat(20)}`, startBlock: 12, idPrefix: null },
  erc20CollateralLock: { address: `0x${'2B'.repeat(20)}`, startBlock: 0, idPrefix: 'eth' },
}
const NETWORKS = [
  { evm: [EVM], filecoin: [FILECOIN] },
  { evm: [EVM, { ...EVM, networkId: '56', erc20Loans: { ...EVM.erc20Loans, idPrefix: 'b' } }] },
  { filecoin: [FILECOIN, { networkId: 'mainnet', rpcUrls: ['https://lotus.example'] }] },
].map((sample) => jsonSample(JSON.stringify(sample)))

const SOURCE = { HOME_TOKEN: `${TOKEN}-of-the-environment`, EMPTY: '' }

function checkNetworks({ evm, filecoin }: Networks): Outcome {
  const keys = [...evm.map(networkKey), ...filecoin.map(filecoinNetworkKey)]
  must(new Set(keys).size === keys.length, 'networks have names of their own')
  for (const url of [...evm, ...filecoin].flatMap(({ rpcUrls }) => rpcUrls)) {
    must(URL.canParse(url) && !url.includes('native code'), `a URL: ${url}`)
    endpointLabel(url)
  }
  return 'taken'
}

const networks: FuzzTarget = {
  name: 'networks-file',
  about: 'the networks file: networks, or one line without tokens',
  cases: MILLION,
  quickCases: 400,
  open: () => {
    const folder = mkdtempSync(join(tmpdir(), 'loan-activity-fuzz-'))
    const file = join(folder, 'networks.json')
    /** Some cases go through a file, where invalid JSON is reported. */
    const load = (text: string, viaFile: boolean): Networks => {
      if (!viaFile) {
        const json = parsed(text)
        if (json !== undefined) return parseNetworks(json, 'networks.json', SOURCE)
      }
      writeFileSync(file, text)
      return loadNetworks(file, SOURCE)
    }
    return {
      make: (random) => {
        const text = jsonLike(random, NETWORKS)
        const viaFile = random.chance(0.02)
        const feed = (): Outcome => {
          const found = orOneLine(() => load(text, viaFile))
          return found === null ? 'refused' : checkNetworks(found)
        }
        return { feed, show: () => shown(text) }
      },
      close: () => {
        rmSync(folder, { recursive: true })
        return Promise.resolve()
      },
    }
  },
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

export const CONFIG_TARGETS: readonly FuzzTarget[] = [environment, networks]
