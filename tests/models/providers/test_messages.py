import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.models.base import Message, Role
from surefoot.models.providers.messages import CONTINUE, alternate, with_instruction


def messages_of(*pairs: tuple[Role, str]) -> tuple[Message, ...]:
    return tuple(Message(role=role, content=content) for role, content in pairs)


@pytest.mark.req("O5")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (messages_of(("user", "a")), messages_of(("user", "a"))),
        (messages_of(("user", "a"), ("user", "b")), messages_of(("user", "a\n\nb"))),
        (
            messages_of(("system", "s"), ("system", "t"), ("user", "a"), ("assistant", "b"), ("user", "c")),
            messages_of(("system", "s\n\nt"), ("user", "a"), ("assistant", "b"), ("user", "c")),
        ),
        (
            messages_of(("user", "a"), ("system", "note"), ("assistant", "b"), ("user", "c")),
            messages_of(("user", "a\n\nnote"), ("assistant", "b"), ("user", "c")),
        ),
        (messages_of(("assistant", "b")), messages_of(("user", CONTINUE), ("assistant", "b"), ("user", CONTINUE))),
        (messages_of(("user", "a"), ("assistant", " "), ("user", "c")), messages_of(("user", "a\n\nc"))),
        (messages_of(("system", "alone")), messages_of(("user", "alone"))),
        ((), messages_of(("user", CONTINUE))),
    ],
)
def test_messages_are_normalized(before: tuple[Message, ...], after: tuple[Message, ...]) -> None:
    assert alternate(before) == after


@pytest.mark.req("O5")
def test_the_system_message_is_folded_into_the_first_user_message() -> None:
    assert alternate(messages_of(("system", "s"), ("user", "a")), fold_system=True) == messages_of(("user", "s\n\na"))


any_messages = st.lists(
    st.builds(Message, role=st.sampled_from(["system", "user", "assistant"]), content=st.text(max_size=20)), max_size=12
)


@pytest.mark.req("O5")
@given(messages=any_messages, fold=st.booleans())
def test_any_messages_become_alternating_turns(messages: list[Message], fold: bool) -> None:
    turns = alternate(messages, fold_system=fold)
    roles = [message.role for message in turns]
    if roles[0] == "system":
        assert not fold
        roles = roles[1:]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    assert all(message.content.strip() for message in turns)
    assert alternate(turns, fold_system=fold) == turns


@pytest.mark.req("O5")
@given(messages=any_messages)
def test_no_content_is_lost_or_reordered(messages: list[Message]) -> None:
    combined = "\n\n".join(message.content for message in alternate(messages))
    position = 0
    for message in messages:
        if message.content.strip():
            start = combined.find(message.content, position)
            assert start >= position
            position = start + len(message.content)


def test_an_instruction_is_appended_to_the_last_message() -> None:
    messages = with_instruction(messages_of(("system", "s"), ("user", "a")), "as JSON")
    assert messages == messages_of(("system", "s"), ("user", "a\n\nas JSON"))
