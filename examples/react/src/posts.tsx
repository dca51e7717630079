import { type FormEvent, useState } from 'react'
import type { Post, User } from './api.ts'
import { usePosts } from './use-posts.ts'

export function Posts({ me }: { me: User }) {
  const { posts, isConnected, fault, add, rename, remove } = usePosts(me)
  return (
    <>
      <p className="status" role="status">
        {isConnected ? 'Live' : 'Connecting …'}
      </p>
      {fault !== undefined && (
        <p className="fault" role="alert">
          {fault}
        </p>
      )}
      <NewPost add={add} />
      <ul className="posts">
        {posts.map(post => (
          <PostCard
            key={post.id}
            post={post}
            isMine={post.author_id === me.id}
            rename={rename}
            remove={remove}
          />
        ))}
      </ul>
    </>
  )
}

/** The text of the field `title`, without spaces around it. */
function titleIn(form: HTMLFormElement): string {
  return String(new FormData(form).get('title')).trim()
}

function NewPost({ add }: { add(title: string): void }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const title = titleIn(event.currentTarget)
    if (title === '') return
    add(title)
    event.currentTarget.reset()
  }
  return (
    <form className="row" onSubmit={submit}>
      <input name="title" aria-label="Title of a new post" placeholder="What is new?" autoComplete="off" />
      <button type="submit">Post</button>
    </form>
  )
}

interface CardProps {
  readonly post: Post
  readonly isMine: boolean
  rename(id: number, title: string): void
  remove(id: number): void
}

function PostCard({ post, isMine, rename, remove }: CardProps) {
  const [isEdited, setEdited] = useState(false)
  if (isEdited) {
    const submit = (event: FormEvent<HTMLFormElement>) => {
      event.preventDefault()
      rename(post.id, titleIn(event.currentTarget))
      setEdited(false)
    }
    return (
      <li className="card">
        <form className="row" onSubmit={submit}>
          <input name="title" aria-label="New title" defaultValue={post.title} autoComplete="off" />
          <button type="submit">Save</button>
          <button type="button" className="plain" onClick={() => setEdited(false)}>
            Cancel
          </button>
        </form>
      </li>
    )
  }
  return (
    <li className="card">
      <div>
        <h2>{post.title}</h2>
        <p className="by">{post.author?.name ?? 'Somebody'}</p>
      </div>
      {isMine && (
        <div className="row">
          <button
            type="button"
            className="plain"
            onClick={() => setEdited(true)}
            aria-label={`Edit ${post.title}`}
          >
            Edit
          </button>
          <button
            type="button"
            className="plain"
            onClick={() => remove(post.id)}
            aria-label={`Delete ${post.title}`}
          >
            Delete
          </button>
        </div>
      )}
    </li>
  )
}
