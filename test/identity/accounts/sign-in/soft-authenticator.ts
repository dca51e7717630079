/** An authenticator in software, which signs every challenge (Web Authentication Level 3, 6.3.3). */
import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import type { NewRecord } from '../../../../src/base/records.ts'

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}

/** COSE, RFC 9053, 7.1.1: an EC2 key for ES256. */
function coseKey(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  const [head, between] = [Buffer.from('a5010203262001215820', 'hex'), Buffer.from('225820', 'hex')]
  return Buffer.concat([head, Buffer.from(x, 'base64url'), between, Buffer.from(y, 'base64url')])
}

export interface SoftPasskey {
  /** The record that the service stores. */
  readonly record: NewRecord
  /** The assertion that a browser sends, as JSON. */
  assertion(challenge: string, counter: number): string
}

/** A passkey of a user at the origin `issuer`. */
export function softPasskey(issuer: string, userId: number, createdAt: number): SoftPasskey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const credential = Buffer.from(randomUUID()).toString('base64url')
  const payload = JSON.stringify({
    ...{ userId, name: 'My phone', credentialId: credential, counter: 1, transports: [], createdAt },
    publicKey: coseKey(publicKey).toString('base64url'),
  })
  const id = sha256(credential).toString('base64url')
  return {
    record: { kind: 'Passkey', id, payload, expiresAt: null, owner: String(userId) },
    assertion(challenge, counter) {
      const client = JSON.stringify({ type: 'webauthn.get', challenge, origin: issuer, crossOrigin: false })
      const data = Buffer.alloc(37)
      sha256(new URL(issuer).hostname).copy(data)
      // Flags: user present, user verified.
      data[32] = 0b101
      data.writeUInt32BE(counter, 33)
      const signature = sign('sha256', Buffer.concat([data, sha256(client)]), privateKey)
      return JSON.stringify({
        id: credential,
        rawId: credential,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: Buffer.from(client).toString('base64url'),
          authenticatorData: data.toString('base64url'),
          signature: signature.toString('base64url'),
        },
      })
    },
  }
}

function byteString(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x59, bytes.length >> 8, bytes.length & 255]), bytes])
}

/** The response of a browser that creates a passkey, as JSON (Web Authentication Level 3, 6.5.1, without attestation). */
export function softRegistration(issuer: string, challenge: string): string {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const credential = Buffer.from(randomUUID())
  const client = JSON.stringify({ type: 'webauthn.create', challenge, origin: issuer, crossOrigin: false })
  const data = Buffer.concat([
    sha256(new URL(issuer).hostname),
    // Flags: user present, user verified, attested credential data included; the counter; the AAGUID; the length of the id.
    Buffer.from([0b1000101, 0, 0, 0, 1, ...Array<number>(16).fill(0), 0, credential.length]),
    credential,
    coseKey(publicKey),
  ])
  const head = Buffer.from('a363666d74646e6f6e656761747453746d74a0686175746844617461', 'hex')
  return JSON.stringify({
    id: credential.toString('base64url'),
    rawId: credential.toString('base64url'),
    type: 'public-key',
    clientExtensionResults: {},
    response: {
      clientDataJSON: Buffer.from(client).toString('base64url'),
      attestationObject: Buffer.concat([head, byteString(data)]).toString('base64url'),
    },
  })
}
