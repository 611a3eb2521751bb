import t from 'tap'
import { loadEnvironment } from '../../../../shared/config/config.ts'
import { parseRedisUrl, redisPlace } from '../../../../shared/config/redis-url.ts'
import { hideSecrets } from '../../../../shared/secrets.ts'

void t.test('the forms of REDIS_URL', (t) => {
  t.strictSame(parseRedisUrl('rediss://:p@h:1/2'), { kind: 'single', url: 'rediss://:p@h:1/2' })
  t.strictSame(parseRedisUrl('redis+sentinel://u:p%40s@a,b:2,[::1]:3/main?db=4&sentinelPassword=s%20p'), {
    kind: 'sentinel',
    options: {
      sentinels: [
        { host: 'a', port: 26379 },
        { host: 'b', port: 2 },
        { host: '::1', port: 3 },
      ],
      ...{ name: 'main', db: 4, username: 'u', password: 'p@s', sentinelPassword: 's p' },
    },
  })
  t.match(parseRedisUrl('rediss+sentinel://a/main'), {
    // Without the last two ioredis sends all in the clear.
    options: { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true },
  })
  t.strictSame(parseRedisUrl('rediss+cluster://:p%@a,b:2'), {
    kind: 'cluster',
    nodes: [
      { host: 'a', port: 6379 },
      { host: 'b', port: 2 },
    ],
    login: { password: 'p%', tls: {} },
  })
  t.equal(redisPlace('redis+cluster://u:p@a,[::1]:2'), 'a:6379,[::1]:2')
  t.equal(redisPlace('rediss+sentinel://u:p%@a,[::1]:2/main'), 'a:26379,[::1]:2')
  t.end()
})

void t.test('malformed ones are refused, and passwords are hidden', (t) => {
  for (const text of [
    ...[
      'redis+sentinel://a,b',
      'redis+sentinel://a:x/main',
      'redis+sentinel://a,,b/main',
      'redis+sentinel:///main',
    ],
    ...['redis+sentinel://a/main?db=x', 'redis+sentinel://a/main/other', 'redis+cluster://'],
    ...['redis+cluster://a/1', 'redis+cluster://a?db=1', 'redis+cluster://a:x'],
    ...['redis+other://a', 'redis+sentinel:a/main'],
  ]) {
    t.equal(parseRedisUrl(text), undefined, text)
    t.throws(() => loadEnvironment({ REDIS_URL: text }), /^REDIS_URL must be a URL of the form redis:/)
  }
  loadEnvironment({ REDIS_URL: 'redis+sentinel://u:first-w0rd@a,b/main?sentinelPassword=second-w0rd' })
  loadEnvironment({ REDIS_URL: 'redis+cluster://:third-w0rd@a,b' })
  t.notMatch(hideSecrets('first-w0rd second-w0rd third-w0rd'), /w0rd/)
  t.end()
})
