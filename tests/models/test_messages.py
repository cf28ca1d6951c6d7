import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.models.base import Message, Role
from surefoot.models.messages import GO_ON, alternate, with_instruction


def said(*pairs: tuple[Role, str]) -> tuple[Message, ...]:
    return tuple(Message(role=role, content=content) for role, content in pairs)


@pytest.mark.req("O5")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (said(("user", "a")), said(("user", "a"))),
        (said(("user", "a"), ("user", "b")), said(("user", "a\n\nb"))),
        (
            said(("system", "s"), ("system", "t"), ("user", "a"), ("assistant", "b"), ("user", "c")),
            said(("system", "s\n\nt"), ("user", "a"), ("assistant", "b"), ("user", "c")),
        ),
        (
            said(("user", "a"), ("system", "note"), ("assistant", "b"), ("user", "c")),
            said(("user", "a\n\nnote"), ("assistant", "b"), ("user", "c")),
        ),
        (said(("assistant", "b")), said(("user", GO_ON), ("assistant", "b"), ("user", GO_ON))),
        (said(("user", "a"), ("assistant", " "), ("user", "c")), said(("user", "a\n\nc"))),
        (said(("system", "alone")), said(("user", "alone"))),
        ((), said(("user", GO_ON))),
    ],
)
def test_messages_are_brought_into_turns(before: tuple[Message, ...], after: tuple[Message, ...]) -> None:
    assert alternate(before) == after


@pytest.mark.req("O5")
def test_system_is_folded_for_templates_that_have_none() -> None:
    assert alternate(said(("system", "s"), ("user", "a")), fold_system=True) == said(("user", "s\n\na"))


any_messages = st.lists(
    st.builds(Message, role=st.sampled_from(["system", "user", "assistant"]), content=st.text(max_size=20)), max_size=12
)


@pytest.mark.req("O5")
@given(messages=any_messages, fold=st.booleans())
def test_whatever_comes_in_turns_come_out(messages: list[Message], fold: bool) -> None:
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
def test_nothing_said_is_lost_or_moved(messages: list[Message]) -> None:
    everything = "\n\n".join(message.content for message in alternate(messages))
    position = 0
    for message in messages:
        if message.content.strip():
            found = everything.find(message.content, position)
            assert found >= position
            position = found + len(message.content)


def test_an_instruction_goes_to_the_very_end() -> None:
    asked = with_instruction(said(("system", "s"), ("user", "a")), "as JSON")
    assert asked == said(("system", "s"), ("user", "a\n\nas JSON"))
